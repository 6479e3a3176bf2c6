import { deleteSchedule } from '../../adapters/schedules.ts';
import { kennelQueue } from '../../contracts/ids.ts';
import type { OpenedRun, OpenedStep, OpenInput, RoutineStep } from '../../contracts/routine.ts';
import { firingNote, isOvertaken } from '../../domain/cron.ts';
import { isOnce } from '../../domain/firings.ts';
import { budgetsOf, endsSoon, usedUp } from '../../domain/model/spending.ts';
import type { Given, Inputs } from '../../domain/routine-inputs.ts';
import type { Say } from '../../domain/texts/say.ts';
import { signalArrival } from '../../gateway/intake/signal.ts';
import { chatAutonomy } from '../../store/chats/threads/threads.ts';
import { hostOfChat } from '../../store/kennel/hosts.ts';
import type { Db } from '../../store/postgres/database.ts';
import { budgetsOfCron, type Cron, findCron, lastSettled, settleFiring } from '../../store/routines/crons.ts';
import { findRoutine, type Routine } from '../../store/routines/routines.ts';
import { findRun, openRun as insertRun, type RoutineRun, runningRun } from '../../store/routines/runs.ts';
import { askAtLimit, closePastQuestions } from '../../store/turns/questions/budget-questions.ts';
import { findCallWithChat } from '../../store/turns/steps/calls.ts';
import { taintOfCall, unaskedSources } from '../../store/turns/steps/taint.ts';
import { tools } from '../../tools/registry.ts';
import { problemOfRun, spends } from '../../tools/routines/routine-steps.ts';
import type { RoutineDeps } from '../activity-deps.ts';

/** Opens a run, or says why not now. Null when the routine or its chat is gone. */
export async function openRun(deps: RoutineDeps, input: OpenInput): Promise<OpenedRun | null> {
  const { db } = deps;
  const [routine, chat] = await Promise.all([
    findRoutine(db, input.chatId, input.routineId),
    chatAutonomy(db, input.chatId),
  ]);
  const scheduledFor = input.scheduledFor ? new Date(input.scheduledFor) : null;
  const cron = input.cronId ? await findCron(db, input.chatId, input.cronId) : undefined;
  if (input.cronId && scheduledFor && !cron) {
    // deleted by hand, or by a call that was killed half way; it would fire for ever
    await deleteSchedule(deps.temporal, input.cronId);
    return null;
  }
  if (!chat) return null;
  if (!routine) {
    // the routine was deleted during its run and the workflow was lost; the person must still hear what it did
    const run = await findRun(db, input.runId);
    return run && input.ended !== undefined ? { name: run.routine_name, channel: chat.channel, steps: [] } : null;
  }
  let note: string | null = null;
  if (cron && scheduledFor && !(await findRun(db, input.runId))) {
    const now = new Date();
    const unopened = { name: routine.name, channel: chat.channel, steps: [] };
    if (isOvertaken(cron.schedule, cron.time_zone, scheduledFor, now)) return { ...unopened, coalesced: true };
    // reconciling continues a run whose workflow is gone, or ends it and tells the person
    if (await runningRun(db, routine.id)) return { ...unopened, wait: true };
    const held = await heldBack(deps, routine, cron);
    if (held === 'waits') return { ...unopened, wait: true };
    if (held === 'left out') {
      await settleFiring(db, cron.id, scheduledFor);
      return { ...unopened, coalesced: true };
    }
    note = firingNote({ schedule: cron.schedule, timeZone: cron.time_zone }, lastSettled(cron), scheduledFor, now);
  }
  const given = await givenTo(db, input, cron);
  const run = await insertRun(db, {
    id: input.runId,
    routine,
    cronId: input.cronId ?? null,
    workflowId: input.workflowId,
    scheduledFor,
    note,
    given,
  });
  const problem = problemBefore(routine, run);
  const steps = await Promise.all(routine.steps.map((step) => policyOf(deps, input.chatId, step)));
  return { name: routine.name, channel: chat.channel, steps, ...(problem && { problem }) };
}

/**
 * A budget of the schedule or of its chat is used up. The person is asked once in its period; until a yes, or the next
 * period, its firings are left out. The only firing of a schedule waits for them if that takes no more than a day: each
 * look for them costs a few events.
 */
async function heldBack(deps: RoutineDeps, routine: Routine, cron: Cron): Promise<'waits' | 'left out' | null> {
  const { db, config } = deps;
  if (!spends(routine.steps, (name) => tools.get(name))) return null;
  const facts = await budgetsOfCron(db, cron, config.FETCH_TIME_ZONE);
  await closePastQuestions(db, cron, [facts.today, facts.month]);
  const mark = usedUp(budgetsOf('schedule', facts, config));
  if (!mark) return null;
  const once = isOnce(cron.schedule);
  const isOwn = mark.budget.level === 'schedule';
  const waits = isOwn ? null : (say: Say) => say('budget.leftOut', { name: cron.name });
  const asked = await askAtLimit(db, { id: cron.id, threadId: null, account: cron.chat_id, waits, once }, mark);
  // if the signal fails, the sweeper finds the row
  if (asked.state === 'asked' && asked.told) await signalArrival(deps, asked.told).catch(() => {});
  return once && asked.state === 'asked' && endsSoon(mark, Date.now()) ? 'waits' : 'left out';
}

/** Why a run cannot begin with what it was given. Its routine may have other inputs than when they were checked. */
function problemBefore(routine: Routine, { inputs, results, cron_id }: RoutineRun): string | null {
  // a prompt has no inputs, whatever its words look like
  const problem =
    inputs && results.length === 0 && !routine.automation
      ? problemOfRun(routine, (name) => tools.get(name), inputs)
      : null;
  return problem && `${problem.replace(/\.$/, '')}${cron_id ? '. Tell me what its schedule shall give it' : ''}`;
}

/** How a routine step is to be run, as of now. */
async function policyOf(
  { db, config }: RoutineDeps,
  chatId: string,
  { tool: name, when, onFailure }: RoutineStep,
): Promise<OpenedStep> {
  const tool = tools.get(name);
  const host =
    tool?.runsIn === 'kennel' ? await hostOfChat(db, chatId, config.FETCH_KENNEL_HOST, tool.anyHost === true) : null;
  const policy = { ...(when && { when }), ...(onFailure && { onFailure }) };
  return {
    tool: name,
    ...policy,
    effect: tool?.effect ?? 'idempotent',
    timeoutMs: tool?.timeoutMs ?? 10_000,
    ...(host && { queue: kennelQueue(host) }),
  };
}

/** What a run is given: by its cron, or by the call that started it. */
const givenTo = async (db: Db, { chatId, callId }: OpenInput, cron: Cron | undefined): Promise<Given> =>
  cron ? { inputs: cron.inputs, sources: cron.sources } : await givenByCall(db, chatId, callId);

/** What the call of workflow_run had given, and what its turn had read if no person was asked about it. */
export async function givenByCall(db: Db, chatId: string, callId: string | undefined): Promise<Given> {
  const call = callId === undefined ? undefined : await findCallWithChat(db, callId);
  if (callId === undefined || call?.chatId !== chatId) return { inputs: {}, sources: [] };
  return { inputs: (call.args.inputs ?? {}) as Inputs, sources: unaskedSources(await taintOfCall(db, callId)) };
}
