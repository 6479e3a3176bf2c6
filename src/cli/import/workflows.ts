import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { parseSchedule, scheduleSlug } from '../../domain/cron.ts';
import { phoneOf } from '../../domain/whatsapp/identity.ts';
import { channelThread } from '../../intake/threads.ts';
import { chatOfThread } from '../../store/chats/threads.ts';
import { claimImport } from '../../store/imports/imports.ts';
import { insertCron } from '../../store/routines/crons.ts';
import { findRoutine, insertRoutine } from '../../store/routines/routines.ts';
import { tools } from '../../tools/registry.ts';
import { checkRoutineSteps, routineStep } from '../../tools/routines/routine-steps.ts';
import { JsonFile } from './files.ts';
import { type Into, nothing, type Part } from './found.ts';
import { type Chats, chatOf, counted } from './sessions.ts';

/** `workflows.json`. The original has one list for everybody; here each belongs to a chat, and these become the owner's. */

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
  const each = <S extends z.ZodType>(list: string, schema: S, use: (value: z.output<S>, problem: (text: string) => void) => void) => {
    for (const [at, written] of json.list(list, part.problems).entries()) {
      const problem = (text: string, ...path: Array<string | number>): void =>
        void part.problems.push({ file: json.file, line: json.lineOf(list, at, ...path), text });
      const read = schema.safeParse(written);
      if (read.success) use(read.data, problem);
      else for (const { path, message } of read.error.issues) problem(`${path.join('.')}: ${message}`, ...(path as Array<string | number>));
    }
  };
  each('workflows', workflow, (value, problem) => {
    const checked = checkRoutineSteps(
      value.steps,
      (name) => tools.get(name),
      () => tools.keys(),
      chats.config.FETCH_AUTONOMY,
    );
    if (!checked.ok) return problem(`Workflow "${value.name}" cannot run here. ${checked.error}`);
    known.add(value.id);
    part.found.push({
      what: `workflow "${value.name}"`,
      here: done.workflows.has(value.id),
      take: async (into) => {
        const chatId = await chat(into);
        const { name, description, workspace = null } = value;
        const routine = await insertRoutine(into.db, { id: routineId(value.id), chatId, name, description, workspace, steps: checked.steps });
        if (!routine) return 'a workflow of this name is there already';
        await claimImport(into.db, 'workflow', value.id);
        return null;
      },
    });
  });
  each('cronJobs', cron, (value, problem) => {
    const parsed = parseSchedule(value.schedule, 'UTC', new Date());
    if (!parsed.ok) return problem(`Cron "${value.name}": ${parsed.error}.`);
    if (!known.has(value.workflowId)) return problem(`Cron "${value.name}" runs a workflow that is not there or cannot be taken over.`);
    part.found.push({
      what: `cron "${value.name}": ${parsed.schedule} in UTC${value.enabled ? '' : ', disabled'}`,
      here: done.crons.has(value.id),
      take: async (into) => {
        const chatId = await chat(into);
        const routine = await findRoutine(into.db, chatId, routineId(value.workflowId));
        if (!routine) return 'its workflow was not taken over, or is deleted';
        const { name, enabled } = value;
        const id = `cron_${scheduleSlug(parsed.schedule)}_${digest(value.id)}`;
        const made = await insertCron(into.db, { id, routineId: routine.id, chatId, name, schedule: parsed.schedule, timeZone: 'UTC', enabled });
        if (!made) return 'a cron of this name is there already';
        await claimImport(into.db, 'cron', value.id);
        return null;
      },
    });
  });
  const runs = json.list('runs', part.problems).length;
  if (runs > 0) part.left.push({ what: `${counted(runs, 'earlier run')} of workflows`, why: 'only workflows and crons are taken over' });
  return part;
}

const digest = (id: string): string => createHash('sha256').update(`import\n${id}`).digest('hex').slice(0, 10);
const routineId = (id: string): string => `wf_${digest(id)}`;

async function ownersChat(into: Into, chats: Chats, owner: string | undefined): Promise<string> {
  const phone = owner === undefined ? null : phoneOf(owner.split(',')[0]!);
  const { id } = phone
    ? await chatOf(into, chats, { lid: null, pn: `${phone}@s.whatsapp.net` })
    : await channelThread({ ...chats, db: into.db }, 'console', 'terminal');
  return await chatOfThread(into.db, id);
}
