import { z } from 'zod';
import { AGENT_NAMES } from '../../../contracts/kennel.ts';
import { taskStartWords } from '../../../domain/chat/words/tool-words.ts';
import { storableText } from '../../../domain/text/storable.ts';
import { listWorkspaces } from '../../../store/kennel/workspaces/workspaces.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { countTasks, findTaskRows, listTaskRows, type TaskRow } from '../../../store/routines/background-tasks.ts';
import {
  ambiguousTask,
  goalTooLong,
  taskNotFound,
  textRequired,
  unknownAgent,
  unknownWorkspace,
} from '../../errors/errors.ts';
import { isId, requestKey, whole } from '../../http/request.ts';
import { given } from '../shared/bodies.ts';
import { endpoint } from '../shared/endpoint.ts';
import { acceptedRecord, recordOf, summaryOf } from './record.ts';
import { taskList, taskRecord } from './schemas.ts';

const text = () => z.string().nullish();
const flag = () => z.boolean().nullish();

const newTaskRequest = z
  .object({
    prompt: z.string(),
    model: text(),
    workspace: text().describe(
      'A path is only kept. The name or the path of a Fetch workspace makes it a coding task there',
    ),
    mode: text(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
    agent: text().describe('A coding agent, or auto: makes it a coding task'),
    harness: text().describe('The same as agent'),
  })
  .meta({
    id: 'NewTaskRequest',
    examples: [
      { prompt: 'Summarise the open issues' },
      { prompt: 'Fix the failing tests', agent: 'auto', workspace: 'demo' },
    ],
  });

/** Most tasks in one answer; the counts are those of all. */
const MOST_LISTED = 1_000;
/** Most that task_create takes. */
const GOAL_CHARS = 10_000;
/** How many tasks a prefix is looked up among; the refusal names their number. */
const PREFIX_MATCHES = 1_000;

export const getTasks = endpoint({
  method: 'GET',
  path: '/v1/tasks',
  summary: 'List background tasks and coding tasks',
  query: { limit: whole.describe(`At most ${MOST_LISTED}, also when left out`) },
  answer: { schema: taskList, what: 'Tasks, the newest first, and how many there are in all.' },
  handle: async ({ query }, { store: { db } }) => {
    const [rows, counts] = await Promise.all([
      listTaskRows(db, Math.min(query.limit ?? MOST_LISTED, MOST_LISTED)),
      countTasks(db),
    ]);
    return { tasks: rows.map(summaryOf), counts };
  },
});

export const postTask = endpoint({
  method: 'POST',
  path: '/v1/tasks',
  summary:
    'Start a task: a coding task when its body names an agent or a Fetch workspace, else a prompt on a thread of its own',
  body: newTaskRequest,
  answer: { status: 201, schema: taskRecord, what: 'The task; the same for the same Idempotency-Key.' },
  refusals: { 400: 'The prompt is blank, or there is no such agent or workspace.' },
  handle: async ({ ctx, body }, { store: { db }, intake }) => {
    const prompt = storableText(body.prompt).trim();
    if (!prompt) throw textRequired('prompt');
    const coding = await codingTaskIn(db, body);
    if (coding && prompt.length > GOAL_CHARS) throw goalTooLong(GOAL_CHARS);
    const task = await intake.background.startTask({
      prompt: coding ? taskStartWords({ goal: prompt, ...coding }) : prompt,
      model: given(body.model),
      workspace: coding ? undefined : (body.workspace ?? undefined),
      mode: given(body.mode),
      allowShell: body.allow_shell ?? false,
      trustMode: body.trust_mode ?? false,
      autoApprove: body.auto_approve ?? false,
      coding: coding !== null,
      key: requestKey(ctx, 'task', body),
    });
    return await acceptedRecord(db, (await findTaskRows(db, task.id, 1))[0]!);
  },
});

export const getTask = endpoint({
  method: 'GET',
  path: '/v1/tasks/{id}',
  summary: 'Read a task, by its id or a beginning of it that no other has',
  answer: { schema: taskRecord, what: 'The task.' },
  refusals: { 400: 'Several tasks begin so.', 404: 'There is no such task.' },
  handle: async ({ params: { id } }, { store: { db } }) => await recordOf(db, await existingTask(db, id)),
});

export const postTaskCancel = endpoint({
  method: 'POST',
  path: '/v1/tasks/{id}/cancel',
  summary: 'Cancel a task, also while it waits for an answer; a body is ignored',
  answer: {
    schema: taskRecord,
    what: 'The task, which may still be on its way to the end. One that is over stays as it is.',
  },
  refusals: { 400: 'Several tasks begin so.', 404: 'There is no such task.' },
  handle: async ({ ctx, params: { id } }, { store: { db }, intake }) => {
    const task = await existingTask(db, id);
    await intake.background.cancelTask(task, requestKey(ctx, `cancel ${task.id}`, null));
    return await recordOf(db, await existingTask(db, task.id));
  },
});

/** @throws ApiError 400, 404 */
async function existingTask(db: Db, id: string): Promise<TaskRow> {
  const [task, ...others] = isId(id) ? await findTaskRows(db, id, PREFIX_MATCHES) : [];
  if (!task) throw taskNotFound(id);
  if (others.length > 0) throw ambiguousTask(id, others.length + 1);
  return task;
}

/** What a body names for a coding task; null for a background task. @throws ApiError 400 */
async function codingTaskIn(
  db: Db,
  body: {
    agent?: string | null | undefined;
    harness?: string | null | undefined;
    workspace?: string | null | undefined;
  },
): Promise<{ agent?: string; workspace?: string } | null> {
  const agent = (given(body.agent) ?? given(body.harness))?.toLowerCase();
  if (agent !== undefined && agent !== 'auto' && !(AGENT_NAMES as readonly string[]).includes(agent))
    throw unknownAgent(agent, [...AGENT_NAMES, 'auto']);
  const wanted = given(body.workspace);
  const workspaces = wanted === undefined ? [] : await listWorkspaces(db);
  const workspace = workspaces.find(({ name, path }) => name === wanted || path === wanted)?.name;
  if (agent !== undefined && wanted !== undefined && workspace === undefined)
    throw unknownWorkspace(wanted, [...new Set(workspaces.map(({ name }) => name))]);
  if (agent === undefined && workspace === undefined) return null;
  return { ...(agent !== undefined && agent !== 'auto' && { agent }), ...(workspace !== undefined && { workspace }) };
}
