import { deleteSchedule } from '../../adapters/schedules.ts';
import { kennelQueue } from '../../contracts/ids.ts';
import type { OpenedRun, OpenedStep, OpenInput, RoutineStep } from '../../contracts/routine.ts';
import { firingNote, isOvertaken } from '../../domain/cron.ts';
import { chatAutonomy } from '../../store/chats/threads.ts';
import { hostOfChat } from '../../store/kennel/hosts.ts';
import { findCron } from '../../store/routines/crons.ts';
import { findRoutine } from '../../store/routines/routines.ts';
import { findRun, openRun as insertRun, runningRun } from '../../store/routines/runs.ts';
import { tools } from '../../tools/registry.ts';
import type { RoutineDeps } from '../activity-deps.ts';

/** Opens a run, or says why not now. Null when the routine or its chat is gone. */
export async function openRun(deps: RoutineDeps, input: OpenInput): Promise<OpenedRun | null> {
  const { db } = deps;
  const [routine, chat] = await Promise.all([findRoutine(db, input.chatId, input.routineId), chatAutonomy(db, input.chatId)]);
  const scheduledFor = input.scheduledFor ? new Date(input.scheduledFor) : null;
  const cron = input.cronId && scheduledFor ? await findCron(db, input.chatId, input.cronId) : undefined;
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
    const from = cron.last_fired && cron.last_fired > cron.enabled_since ? cron.last_fired : cron.enabled_since;
    note = firingNote({ schedule: cron.schedule, timeZone: cron.time_zone }, from, scheduledFor, now);
  }
  await insertRun(db, { id: input.runId, routine, cronId: input.cronId ?? null, workflowId: input.workflowId, scheduledFor, note });
  return { name: routine.name, channel: chat.channel, steps: await Promise.all(routine.steps.map((step) => policyOf(deps, input.chatId, step))) };
}

/** How a routine step is to be run, as of now. */
async function policyOf({ db, config }: RoutineDeps, chatId: string, { tool: name, when, onFailure }: RoutineStep): Promise<OpenedStep> {
  const tool = tools.get(name);
  const host = tool?.runsIn === 'kennel' ? await hostOfChat(db, chatId, config.FETCH_KENNEL_HOST, tool.anyHost === true) : null;
  const policy = { ...(when && { when }), ...(onFailure && { onFailure }) };
  return { tool: name, ...policy, effect: tool?.effect ?? 'idempotent', timeoutMs: tool?.timeoutMs ?? 10_000, ...(host && { queue: kennelQueue(host) }) };
}
