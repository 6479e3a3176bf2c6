import { sql } from 'kysely';
import { PROMPT_STEP, type PromptArgs } from '../../contracts/routine.ts';
import type { Source } from '../../contracts/taint.ts';
import { type RequestKey, takeForThread } from '../chats/request-keys.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import { type TaskStatus, taskOfEachRun } from './background-tasks.ts';
import type { Cron } from './crons.ts';

/** A cron with a recurrence rule. Its routine has one step, which is a prompt. */
export interface Automation extends Cron {
  rrule: string;
  args: PromptArgs;
  /** where its results go */
  thread_id: string | null;
  last_run_at: Date | null;
}

interface AutomationValues {
  name: string;
  rrule: string;
  /** what the rule means, in the grammar of crons */
  schedule: string;
  timeZone: string;
  enabled: boolean;
  args: PromptArgs;
}

/** `id`: made from the key, so that a repeated request finds what the first one has made. `threadId`: of its chat. */
interface NewAutomation extends AutomationValues {
  id: string;
  chatId: string;
  threadId: string;
  key: RequestKey;
}

const stepsOf = (args: PromptArgs): string => json([{ name: PROMPT_STEP, tool: PROMPT_STEP, args }]);

/** The routine of a prompt. */
const routineOf = ({ id, chatId, name }: { id: string; chatId: string; name: string }, args: PromptArgs) => ({
  id: `wf_${id}`,
  chat_id: chatId,
  name,
  description: '',
  workspace: null,
  steps: stepsOf(args),
  automation: true,
});

/** A prompt of a chat on a schedule. `sources`: whose wish it may be, when no person was asked. */
interface NewPrompt {
  id: string;
  chatId: string;
  name: string;
  schedule: string;
  timeZone: string;
  enabled: boolean;
  prompt: string;
  /** each run has a conversation of its own, and only its result comes to the chat */
  isolated?: boolean | undefined;
  sources: readonly Source[];
}

const argsOf = ({ prompt, isolated = false }: { prompt: string; isolated?: boolean | undefined }): PromptArgs => ({
  prompt,
  cwds: [],
  allow_shell: false,
  auto_approve: false,
  ...(!isolated && { context: 'group' }),
});

/** Null when the name is taken in this chat. A second call with the same id returns the stored row. */
export const insertPrompt = (db: Db, prompt: NewPrompt): Promise<Cron | null> =>
  db.transaction().execute(async (tx) => {
    const { id, chatId: chat_id, name, schedule, timeZone: time_zone, enabled } = prompt;
    const routine = {
      ...routineOf({ id, chatId: chat_id, name }, argsOf(prompt)),
      sources: json(prompt.sources),
    };
    await tx
      .insertInto('routines')
      .values(routine)
      .onConflict((c) => c.doNothing())
      .execute();
    await tx
      .insertInto('crons')
      .values({ id, routine_id: routine.id, chat_id, name, schedule, time_zone, enabled })
      .onConflict((c) => c.doNothing())
      .execute();
    const cron = await tx.selectFrom('crons').selectAll().where('id', '=', id).executeTakeFirst();
    if (!cron) await tx.deleteFrom('routines').where('id', '=', routine.id).execute();
    return cron ?? null;
  });

/** What the prompt of a chat's schedule is; null when the schedule runs a workflow. */
export async function promptOf(db: Db | Tx, { routine_id }: Pick<Cron, 'routine_id'>): Promise<PromptArgs | null> {
  const row = await db
    .selectFrom('routines')
    .select('steps')
    .where('id', '=', routine_id)
    .where('automation', '=', true)
    .executeTakeFirst();
  return row ? (row.steps[0]!.args as unknown as PromptArgs) : null;
}

/** Its schedule stays. */
export const changePrompt = async (
  db: Db,
  { routine_id }: Pick<Cron, 'routine_id'>,
  { name, args, sources }: { name: string; args?: PromptArgs | undefined; sources: readonly Source[] },
): Promise<void> => {
  const change = args === undefined ? {} : { steps: stepsOf(args), sources: json(sources) };
  await db
    .updateTable('routines')
    .set({ name, ...change, updated_at: new Date() })
    .where('id', '=', routine_id)
    .execute();
};

/** With its schedule still to be made. @throws KeyReused */
export async function insertAutomation(db: Db, automation: NewAutomation): Promise<void> {
  const { id, chatId: chat_id, name, schedule, timeZone: time_zone, enabled, rrule } = automation;
  await db.transaction().execute(async (tx) => {
    if (await takeForThread(tx, automation.key, automation.threadId)) return;
    const routine = routineOf(automation, automation.args);
    await tx.insertInto('routines').values(routine).execute();
    await tx
      .insertInto('crons')
      .values({ id, routine_id: routine.id, chat_id, name, schedule, time_zone, enabled, rrule, unsent: true })
      .execute();
  });
}

/** Firings before this moment do not count as missed. Its schedule is still to be changed. */
export async function changeAutomation(
  db: Db,
  { id, routine_id }: Pick<Automation, 'id' | 'routine_id'>,
  values: AutomationValues,
): Promise<Cron> {
  const { name, rrule, schedule, enabled, timeZone, args } = values;
  const now = new Date();
  return await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('routines')
      .set({ name, steps: stepsOf(args), updated_at: now })
      .where('id', '=', routine_id)
      .execute();
    const set = {
      name,
      rrule,
      schedule,
      enabled,
      time_zone: timeZone,
      enabled_since: now,
      unsent: true,
      updated_at: now,
    };
    return await tx.updateTable('crons').set(set).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
  });
}

/** Those of every chat, the last changed first. */
export const listAutomations = async (db: Db): Promise<Automation[]> =>
  (await automations(db).orderBy('crons.updated_at', 'desc').orderBy('crons.id').execute()).map(asAutomation);

export async function findAutomation(db: Db, id: string): Promise<Automation | undefined> {
  const row = await automations(db).where('crons.id', '=', id).executeTakeFirst();
  return row && asAutomation(row);
}

export async function countAutomations(db: Db): Promise<number> {
  const count = db.selectFrom('crons').select((e) => e.fn.countAll().as('count'));
  return Number((await count.where('rrule', 'is not', null).executeTakeFirstOrThrow()).count);
}

const automations = (db: Db) =>
  db
    .selectFrom('crons')
    .innerJoin('routines', 'routines.id', 'crons.routine_id')
    .selectAll('crons')
    .select('routines.steps')
    .select((e) => [
      e
        .selectFrom('threads')
        .select('threads.id')
        .whereRef('threads.chat_id', '=', 'crons.chat_id')
        .orderBy('threads.updated_at', 'desc')
        .limit(1)
        .as('thread_id'),
      sql<Date | null>`(select max(coalesce(task.ended_at, r.ended_at)) from routine_runs r left join ${taskOfEachRun} task on true
        where r.cron_id = crons.id)`.as('last_run_at'),
    ])
    .where('crons.rrule', 'is not', null);

type AutomationRow = Awaited<ReturnType<ReturnType<typeof automations>['execute']>>[number];

const asAutomation = ({ steps, rrule, ...row }: AutomationRow): Automation => ({
  ...row,
  rrule: rrule!,
  args: steps[0]!.args as unknown as PromptArgs,
});

/** One run of an automation. */
export interface AutomationRun {
  id: string;
  /** null: somebody asked for it */
  scheduled_for: Date | null;
  status: TaskStatus;
  created_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  task_id: string | null;
  thread_id: string | null;
  turn_id: string | null;
  error: string | null;
}

/** Newest first. A run is as far as its task: it is closed itself a little later. */
export async function runsOfAutomation(db: Db, cronId: string, limit: number): Promise<AutomationRun[]> {
  const { rows } = await sql<AutomationRun>`
    select r.id, r.scheduled_for, r.started_at as created_at, task.started_at, coalesce(task.ended_at, r.ended_at) as ended_at,
      task.id as task_id, task.thread_id, task.turn_id,
      coalesce(task.status, case r.status when 'running' then 'queued' else r.status end) as status,
      case when coalesce(task.status, r.status) = 'failed' then coalesce(task.error, r.summary) end as error
    from routine_runs r left join ${taskOfEachRun} task on true
    where r.cron_id = ${cronId}
    order by r.started_at desc, r.id
    limit ${limit}`.execute(db);
  return rows;
}
