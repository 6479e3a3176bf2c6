import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import type { Autonomy } from '../../../contracts/conversation.ts';
import type { RoutineStep } from '../../../contracts/routine.ts';
import { parseSchedule, scheduleSlug } from '../../../domain/cron.ts';
import { phoneOf } from '../../../domain/whatsapp/identity.ts';
import { channelThread } from '../../../gateway/intake/threads.ts';
import { chatOfThread } from '../../../store/chats/threads/threads.ts';
import { claimImport } from '../../../store/home/imports.ts';
import { insertCron } from '../../../store/routines/crons.ts';
import { findRoutine, insertRoutine } from '../../../store/routines/routines.ts';
import { tools } from '../../../tools/registry.ts';
import { checkRoutineSteps, routineStep } from '../../../tools/routines/routine-steps.ts';
import { type Found, type Into, JsonFile, nothing, type Part } from './files.ts';
import { type Chats, chatOf, counted } from './sessions.ts';

/**
 * `workflows.json`. The original has one list for everybody; here each belongs to a chat, and these become the owner's.
 */

const workflow = z.object({
  id: z.string().min(1).max(100),
  name: z.string().trim().min(1).max(80),
  description: z.string().trim().max(300).default(''),
  workspace: z.string().trim().min(1).max(100).optional(),
  steps: z.array(routineStep).min(1).max(30),
});
const cron = z.object({
  id: z.string().min(1).max(100),
  name: z.string().trim().min(1).max(80),
  schedule: z.string().trim().min(1).max(100),
  workflowId: z.string(),
  enabled: z.boolean().default(true),
});

interface Reading {
  data: string;
  done: { workflows: ReadonlySet<string>; crons: ReadonlySet<string> };
  chats: Chats;
  /** number of the owner; without it, the chat of the terminal gets them */
  owner: string | undefined;
}

export function readWorkflows({ data, done, chats, owner }: Reading): Part {
  const part = nothing();
  const json = JsonFile.read(join(data, 'workflows.json'), part.problems);
  if (!json) return part;
  const chat = (into: Into) => ownersChat(into, chats, owner);
  const known = new Set<string>();
  eachOf(json, 'workflows', workflow, part, (written) => {
    const checked = checkSteps(written, chats.config.FETCH_AUTONOMY);
    if (!checked.ok) return `Workflow "${written.name}" cannot run here. ${checked.error}`;
    known.add(written.id);
    return foundWorkflow({ ...written, steps: checked.steps }, done.workflows.has(written.id), chat);
  });
  eachOf(json, 'cronJobs', cron, part, (written) => {
    const parsed = parseSchedule(written.schedule, 'UTC', new Date());
    if (!parsed.ok) return `Cron "${written.name}": ${parsed.error}.`;
    if (!known.has(written.workflowId))
      return `Cron "${written.name}" runs a workflow that is not there or cannot be taken over.`;
    return foundCron({ ...written, schedule: parsed.schedule }, done.crons.has(written.id), chat);
  });
  const runs = json.list('runs', part.problems).length;
  if (runs > 0)
    part.left.push({
      what: `${counted(runs, 'earlier run')} of workflows`,
      why: 'only workflows and crons are taken over',
    });
  return part;
}

/** Reads each member of a list: what is found, or what is wrong with it. */
function eachOf<S extends z.ZodType>(
  json: JsonFile,
  list: string,
  schema: S,
  part: Part,
  read: (written: z.output<S>) => Found | string,
): void {
  for (const [at, written] of json.list(list, part.problems).entries()) {
    const problem = (text: string, path: PropertyKey[] = []): void =>
      void part.problems.push({
        file: json.file,
        line: json.lineOf(list, at, ...(path as Array<string | number>)),
        text,
      });
    const parsed = schema.safeParse(written);
    if (!parsed.success)
      for (const { path, message } of parsed.error.issues) problem(`${path.join('.')}: ${message}`, path);
    else {
      const found = read(parsed.data);
      if (typeof found === 'string') problem(found);
      else part.found.push(found);
    }
  }
}

/**
 * The original selects the workspace of a workflow before its first step. Here each step that works in one names it.
 */
const checkSteps = ({ steps, workspace }: z.output<typeof workflow>, autonomy: Autonomy) =>
  checkRoutineSteps(
    steps,
    (name) => tools.get(name),
    () => tools.keys(),
    autonomy,
    workspace,
  );

type ChatOfOwner = (into: Into) => Promise<string>;

const foundWorkflow = (
  written: Omit<z.output<typeof workflow>, 'steps'> & { steps: RoutineStep[] },
  here: boolean,
  chat: ChatOfOwner,
): Found => ({
  what: `workflow "${written.name}"`,
  here,
  take: async (into) => {
    const { name, description, workspace = null, steps } = written;
    const routine = await insertRoutine(into.db, {
      id: routineId(written.id),
      chatId: await chat(into),
      name,
      description,
      workspace,
      steps,
    });
    if (!routine) return 'a workflow of this name is there already';
    await claimImport(into.db, 'workflow', written.id);
    return null;
  },
});

/** The comparison with the Temporal server makes its schedule within a minute or two. */
const foundCron = (written: z.output<typeof cron>, here: boolean, chat: ChatOfOwner): Found => ({
  what: `cron "${written.name}": ${written.schedule} in UTC${written.enabled ? '' : ', disabled'}`,
  here,
  take: async (into) => {
    const chatId = await chat(into);
    const routine = await findRoutine(into.db, chatId, routineId(written.workflowId));
    if (!routine) return 'its workflow was not taken over, or is deleted';
    const { name, schedule, enabled } = written;
    const id = `cron_${scheduleSlug(schedule)}_${digest(written.id)}`;
    const made = await insertCron(into.db, {
      id,
      routineId: routine.id,
      chatId,
      name,
      schedule,
      timeZone: 'UTC',
      enabled,
    });
    if (!made) return 'a cron of this name is there already';
    await claimImport(into.db, 'cron', written.id);
    return null;
  },
});

const digest = (id: string): string => createHash('sha256').update(`import\n${id}`).digest('hex').slice(0, 10);
const routineId = (id: string): string => `wf_${digest(id)}`;

async function ownersChat(into: Into, chats: Chats, owner: string | undefined): Promise<string> {
  const phone = owner === undefined ? null : phoneOf(owner.split(',')[0]!);
  const { id } = phone
    ? await chatOf(into, chats, { lid: null, pn: `${phone}@s.whatsapp.net` })
    : await channelThread({ ...chats, db: into.db }, 'console', 'terminal');
  return await chatOfThread(into.db, id);
}
