import { z } from 'zod';
import { usageOf } from '../../../store/kennel/tasks/usage.ts';
import { chatsOfThreads } from '../../../store/owner/views/chats.ts';
import {
  editsInLog,
  egressOfTask,
  listTasks,
  readLog,
  type TaskDetailRow,
  taskDetail,
} from '../../../store/owner/views/tasks.ts';
import { ApiError } from '../../errors/errors.ts';
import { isId, whole } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../../runtime/shared/endpoint.ts';
import { lostChat, usdOf } from '../shared.ts';
import { diffFields, logFields, taskFields, taskList, taskStates } from './task-schemas.ts';
import { changesView, diffView, summaryView } from './task-view.ts';

const USUALLY_LISTED = 50;
const MOST_LISTED = 200;
const USUAL_LINES = 200;
const MOST_LINES = 1_000;
const MOST_EDITS = 2_000;
const HOSTS_LISTED = 200;

const missing = { 404: 'There is no such task.' };

export const getTasks = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks',
  summary: 'Coding tasks of all chats',
  query: {
    limit: whole.describe(`${USUALLY_LISTED} when left out, ${MOST_LISTED} at most`),
    before: z.string().describe('Tasks after this one on the list: `next` of the page before'),
    state: z.enum(['live', 'over', ...taskStates]),
  },
  answer: { schema: taskList, what: 'The latest first.' },
  handle: async ({ query: { limit = USUALLY_LISTED, before, state } }, { store: { db } }) => {
    const most = Math.min(Math.max(1, limit), MOST_LISTED);
    const rows = await listTasks(db, { limit: most + 1, before: before ?? null, state: state ?? null });
    const page = rows.slice(0, most);
    const chats = await chatsOfThreads(
      db,
      page.map(({ thread_id }) => thread_id),
    );
    return {
      tasks: page.map((row) => summaryView(row, chats.get(row.thread_id) ?? lostChat(row.thread_id))),
      next: rows.length > most ? page.at(-1)!.id : null,
    };
  },
});

export const getTask = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks/{id}',
  summary: 'One coding task',
  answer: { schema: taskFields, what: 'The task with its plan, result, usage and hosts.' },
  refusals: missing,
  handle: async ({ params: { id } }, deps) => {
    const { db } = deps.store;
    const row = await existingTask(id, deps);
    const [chats, usage, egress] = await Promise.all([
      chatsOfThreads(db, [row.thread_id]),
      usageOf(db, id),
      egressOfTask(db, id, HOSTS_LISTED),
    ]);
    const { result, plan } = row;
    return {
      ...summaryView(row, chats.get(row.thread_id) ?? lostChat(row.thread_id)),
      turn_id: row.turn_id,
      timeout_ms: row.timeout_ms,
      plan: plan && { text: plan.text, files: plan.files },
      summary: result?.summary ?? null,
      said: result?.said || null,
      report: row.report,
      tests: result?.tests ?? null,
      changes: result?.changes ? changesView(result.changes) : null,
      usage: usage.models.map((each) => ({
        model: each.model,
        calls: each.calls,
        input_tokens: each.inputTokens,
        output_tokens: each.outputTokens,
        cost_usd: usdOf(each.microUsd),
      })),
      egress: egress.map(({ host, ...figures }) => ({ to: host, ...figures })),
      log_lines: row.log_lines,
    };
  },
});

export const getTaskLog = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks/{id}/log',
  summary: 'What a coding task did, as stored',
  query: {
    after: whole.describe('Lines after this one: `next` of the page before'),
    limit: whole.describe(`${USUAL_LINES} when left out, ${MOST_LINES} at most`),
  },
  answer: { schema: logFields, what: 'Lines in their order.' },
  refusals: missing,
  handle: async ({ params: { id }, query: { after = 0, limit = USUAL_LINES } }, deps) => {
    const { log_lines: total } = await existingTask(id, deps);
    // the column counts in 32 bits, and no log is as long
    const from = Math.min(after, total);
    const lines = await readLog(deps.store.db, id, from, Math.min(Math.max(1, limit), MOST_LINES));
    const next = lines.at(-1)?.seq ?? from;
    return { lines, next, more: next < total, total };
  },
});

export const getTaskDiff = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks/{id}/diff',
  summary: 'What a coding task changed, file by file',
  answer: { schema: diffFields, what: 'The files, and their differences as far as they are stored.' },
  refusals: missing,
  handle: async ({ params: { id } }, deps) => {
    const { result } = await existingTask(id, deps);
    return diffView(result?.changes ?? null, await editsInLog(deps.store.db, id, MOST_EDITS));
  },
});

/** @throws ApiError 404 */
export async function existingTask(id: string, { store }: Pick<RuntimeDeps, 'store'>): Promise<TaskDetailRow> {
  const row = isId(id) ? await taskDetail(store.db, id) : undefined;
  if (!row) throw new ApiError(404, `Task not found: ${id}`);
  return row;
}
