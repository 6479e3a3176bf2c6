import { createHash, randomUUID } from 'node:crypto';
import { deleteSchedule } from '../../adapters/schedules.ts';
import type { PromptArgs } from '../../contracts/routine.ts';
import { isTimeZone, nextFirings } from '../../domain/cron.ts';
import { readRrule } from '../../domain/rrule.ts';
import { zoneOf } from '../../store/chats/preferences.ts';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import { chatOfThread, getThread } from '../../store/chats/threads/threads.ts';
import {
  type Automation,
  type AutomationRun,
  changeAutomation,
  countAutomations,
  findAutomation,
  insertAutomation,
  listAutomations,
  runsOfAutomation,
} from '../../store/routines/automations.ts';
import { deleteCron, setCronEnabled } from '../../store/routines/crons.ts';
import { followPause, runNow, SCHEDULE_PATIENCE_MS, sendSoon, viewOf } from './schedules.ts';
import { type IntakeDeps, IntakeError } from './signal.ts';
import { channelThread } from './threads.ts';

/**
 * Prompts that run by a rule. Each is a cron whose routine has one step, so schedules, missed firings, runs and their
 * results are those of every cron. The row comes first; the schedule follows at once, or when the Temporal server
 * answers again.
 */

/** In all chats. */
const MOST_AUTOMATIONS = 200;

interface AutomationFields {
  name: string;
  /** as the client wrote it */
  rrule: string;
  /** IANA; that of the chat when unset */
  timeZone?: string | undefined;
  enabled: boolean;
  args: PromptArgs;
}

export type AutomationChange = Partial<Omit<AutomationFields, 'args'>> & { args?: Partial<PromptArgs> };

/** An automation with what its schedule says now. */
export interface AutomationState extends Automation {
  next_run_at: Date | null;
}

type Deps = IntakeDeps & { secret: string };

/** Each throws an IntakeError for an automation that is not there, and for fields that are not right. */
export interface Automations {
  list(): Promise<AutomationState[]>;
  get(id: string): Promise<AutomationState>;
  /**
   * `threadId`: where its results go; the thread of the terminal when unset. The same key gives the same automation.
   */
  create(fields: AutomationFields & { threadId?: string | undefined }, key: RequestKey): Promise<AutomationState>;
  /** What is not given stays. */
  update(id: string, change: AutomationChange): Promise<AutomationState>;
  setEnabled(id: string, enabled: boolean): Promise<AutomationState>;
  /** Returns it as it was. */
  remove(id: string): Promise<AutomationState>;
  /** Runs it now, also while it is paused. The same key gives the same run. */
  run(id: string, key: RequestKey): Promise<AutomationRun>;
}

export const createAutomations = (deps: Deps): Automations => ({
  list: () => list(deps),
  get: (id) => automationOf(deps, id),
  create: (fields, key) => create(deps, fields, key),
  update: (id, change) => update(deps, id, change),
  setEnabled: (id, enabled) => setEnabled(deps, id, enabled),
  remove: (id) => remove(deps, id),
  run: (id, key) => run(deps, id, key),
});

/** A server that is away is waited for once, not for each. */
async function list(deps: Deps): Promise<AutomationState[]> {
  const deadline = Date.now() + SCHEDULE_PATIENCE_MS;
  return await Promise.all((await listAutomations(deps.db)).map((automation) => stateOf(deps, automation, deadline)));
}

async function create(
  deps: Deps,
  fields: AutomationFields & { threadId?: string | undefined },
  key: RequestKey,
): Promise<AutomationState> {
  const { db, config } = deps;
  const thread =
    fields.threadId === undefined
      ? await channelThread(deps, 'console', 'terminal')
      : await getThread(db, fields.threadId);
  if (!thread) throw new IntakeError('not_found', `Thread not found: ${fields.threadId}`);
  const chatId = await chatOfThread(db, thread.id);
  const timeZone = checkedZone(fields.timeZone ?? (await zoneOf(db, chatId, config)));
  const { rrule, schedule } = ruleOf(fields.rrule);
  if ((await countAutomations(db)) >= MOST_AUTOMATIONS)
    throw new IntakeError(
      'invalid',
      `There are ${MOST_AUTOMATIONS} automations, the most that are allowed. Delete one first.`,
    );
  const id = key.fingerprint === null ? randomUUID() : uuidFrom(key.id);
  await insertAutomation(db, {
    id,
    chatId,
    threadId: thread.id,
    name: fields.name,
    rrule,
    schedule,
    timeZone,
    enabled: fields.enabled,
    args: fields.args,
    key,
  });
  const made = await requireAutomation(deps, id);
  if (made.unsent) await sendSoon(deps, made);
  return await automationOf(deps, id);
}

async function update(deps: Deps, id: string, change: AutomationChange): Promise<AutomationState> {
  const before = await requireAutomation(deps, id);
  const timeZone = change.timeZone === undefined ? before.time_zone : checkedZone(change.timeZone);
  const rule = change.rrule === undefined ? before : ruleOf(change.rrule);
  const changed = await changeAutomation(deps.db, before, {
    name: change.name ?? before.name,
    rrule: rule.rrule,
    // the minute of an hourly rule is that in which it was given first
    schedule: rule.rrule === before.rrule ? before.schedule : rule.schedule,
    timeZone,
    enabled: change.enabled ?? (await automationOf(deps, id)).enabled,
    args: { ...before.args, ...change.args },
  });
  await sendSoon(deps, changed);
  return await automationOf(deps, id);
}

async function setEnabled(deps: Deps, id: string, enabled: boolean): Promise<AutomationState> {
  const { enabled: before } = await automationOf(deps, id);
  if (before !== enabled) await sendSoon(deps, await setCronEnabled(deps.db, id, enabled));
  return await automationOf(deps, id);
}

/** The schedule goes at the latest when it fires and finds no row. */
async function remove(deps: Deps, id: string): Promise<AutomationState> {
  const deleted = await automationOf(deps, id);
  await deleteCron(deps.db, id);
  await deps.temporal
    .withDeadline(Date.now() + SCHEDULE_PATIENCE_MS, () => deleteSchedule(deps.temporal, id))
    .catch(() => {});
  return deleted;
}

async function run(deps: Deps, id: string, key: RequestKey): Promise<AutomationRun> {
  const automation = await requireAutomation(deps, id);
  const runId = key.fingerprint === null ? randomUUID() : uuidFrom(key.id);
  const routine = { id: automation.routine_id, name: automation.name, chat_id: automation.chat_id };
  await runNow(deps, { runId, routine, cronId: id, given: { inputs: {}, sources: [] } });
  return (await runsOfAutomation(deps.db, id, 50)).find((run) => run.id === runId)!;
}

async function automationOf(deps: Deps, id: string): Promise<AutomationState> {
  return await stateOf(deps, await requireAutomation(deps, id));
}

/** A pause in the Web UI counts at once. */
async function stateOf(
  deps: Deps,
  automation: Automation,
  deadline = Date.now() + SCHEDULE_PATIENCE_MS,
): Promise<AutomationState> {
  const view = await viewOf(deps, automation.id, deadline);
  const row = await followPause(deps, automation, view);
  const { enabled, schedule, time_zone } = row;
  return {
    ...automation,
    enabled,
    next_run_at: (enabled && nextFirings(schedule, time_zone, new Date(), 1)[0]) || null,
  };
}

async function requireAutomation({ db }: Deps, id: string): Promise<Automation> {
  const found = await findAutomation(db, id);
  if (!found) throw new IntakeError('not_found', `Automation not found: ${id}`);
  return found;
}

function ruleOf(text: string): { rrule: string; schedule: string } {
  const read = readRrule(text, new Date());
  if (!read.ok) throw new IntakeError('invalid', read.error);
  return read;
}

function checkedZone(zone: string): string {
  if (!isTimeZone(zone))
    throw new IntakeError('invalid', `'${zone.slice(0, 60)}' is not an IANA time zone such as Europe/Berlin`);
  return zone;
}

/** The same for the same key. */
function uuidFrom(key: string): string {
  const hex = createHash('sha256').update(key).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
