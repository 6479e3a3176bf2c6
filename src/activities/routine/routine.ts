import { deleteSchedule } from '../../adapters/schedules.ts';
import type { Config } from '../../config.ts';
import type { ReminderActivities } from '../../contracts/activities.ts';
import { type CloseInput, PROMPT_STEP, type RoutineActivities } from '../../contracts/routine.ts';
import type { Source } from '../../contracts/taint.ts';
import { withoutIds } from '../../domain/chat/words/step-words.ts';
import { describeTime } from '../../domain/cron.ts';
import { isOnce } from '../../domain/firings.ts';
import { withoutInternal } from '../../domain/text/internal.ts';
import { prefix } from '../../domain/text/storable.ts';
import { failureAgain, sayWhole } from '../../domain/texts/again.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { HOUR } from '../../domain/time.ts';
import { insertDropped } from '../../store/chats/messages/outbox.ts';
import { sayTo, zoneOf } from '../../store/chats/preferences.ts';
import { isOver, taskOfCall } from '../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../store/postgres/database.ts';
import { deleteCron, findCronById } from '../../store/routines/crons.ts';
import { findReminder, markSaid, type Reminder } from '../../store/routines/reminders.ts';
import { findRoutine } from '../../store/routines/routines.ts';
import {
  closeRun,
  findRun,
  lastSentOfRun,
  type RoutineRun,
  replaceStep,
  type StepOutcome,
  sameResults,
} from '../../store/routines/runs.ts';
import { recordNotice } from '../../store/turns/complete-turn.ts';
import { tools } from '../../tools/registry.ts';
import type { RoutineDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { beating, recording } from '../heartbeat.ts';
import { openRun } from './open-run.ts';
import { callIdOf, endPrompt, runRoutineStep } from './run-routine-step.ts';

const EXCERPT_CHARS = 3000;

function summaryOf(results: readonly StepOutcome[], steps: number, reason?: string, say: Say = english): string {
  const done = results.filter((result) => result.ok && !result.skipped).length;
  const failures = results.flatMap(({ ok, name }, index) =>
    ok ? [] : [say('routine.stepFailed', { number: index + 1, name })],
  );
  return `${say('routine.reached', { done, count: steps })}${failures.join('')}${reason ? `; ${reason}` : ''}`;
}

/** A summary is stored in English. */
function summaryIn({ summary, results }: Pick<RoutineRun, 'summary' | 'results'>, say: Say): string {
  const steps = Number(/^\d+ of (\d+)/.exec(summary ?? '')?.[1]);
  const plain = summaryOf(results, steps);
  if (summary === plain) return summaryOf(results, steps, undefined, say);
  return summary?.startsWith(`${plain}; `)
    ? summaryOf(results, steps, sayWhole(summary.slice(plain.length + 2), 'failed.', say), say)
    : `${summary}`;
}

const stateOf = ({ ok, skipped }: StepOutcome, say: Say): string =>
  say(skipped ? 'routine.skipped' : ok ? 'tasks.done' : 'tasks.failed');

/**
 * What the chat gets: the output of the last routine step, below the name of the routine. Where one failed, its output,
 * and what became of each.
 */
function resultText(
  run: Pick<RoutineRun, 'routine_name' | 'status' | 'summary' | 'results'> & { note?: string | null },
  say: Say,
): string {
  const shown = run.results.find((result) => !result.ok) ?? run.results.findLast((result) => !result.skipped);
  const excerpt =
    shown && (shown.output.length > EXCERPT_CHARS ? `${prefix(shown.output, EXCERPT_CHARS)}\n[cut]` : shown.output);
  const { routine_name: name, results, note } = run;
  const whole = run.status === 'completed' && results.every(({ ok }) => ok);
  const isPrompt = shown?.tool === PROMPT_STEP;
  // a tool that reads nothing speaks in our words, and those are for a model
  const isOurs = tools.get(shown?.tool ?? '')?.reads.length === 0;
  const plain = isPrompt ? withoutInternal(excerpt ?? '') : isOurs ? withoutIds(excerpt ?? '') : (excerpt ?? '');
  const said = shown ? failureAgain(plain, say) : plain;
  if (whole) return [`${name}:`, note, said || say('routine.done')].filter(Boolean).join('\n\n');
  const headline =
    run.status === 'completed' ? `${name}:` : `${say('routine.failed', { name })}${isPrompt ? '.' : ':'}`;
  const lines = results.map((result, index) => `${index + 1}. ${result.name}: ${stateOf(result, say)}`);
  return [
    isPrompt ? headline : `${headline} ${summaryIn(run, say)}.`,
    note,
    ...(isPrompt ? [] : [lines.join('\n')]),
    said,
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** `times`: how often the result before has come again. */
const foldedText = ({ routine_name: name, status }: RoutineRun, times: number, say: Say): string =>
  say(status === 'completed' ? 'routine.same' : 'routine.stillFails', { name, count: times });

const TASK_ENDS = {
  completed: 'failed.taskDone',
  failed: 'failed.taskFailed',
  cancelled: 'failed.taskStopped',
} as const;

/**
 * The result of the coding task of a routine step becomes that of the step, once the task is over. A repeated attempt
 * stores the same.
 */
async function endTaskStep(
  deps: RoutineDeps,
  { runId, index }: { runId: string; index: number },
): Promise<{ over: boolean; ok: boolean }> {
  const { db } = deps;
  const [run, task] = await Promise.all([findRun(db, runId), taskOfCall(db, callIdOf(runId, index))]);
  if (!run) throw fail('NotFound', `Run ${runId} is not in the database.`);
  if (run.results[index]?.tool === PROMPT_STEP) return await endPrompt(deps, run, index);
  if (task && !isOver(task.state)) return { over: false, ok: false };
  const ok = task?.state === 'completed';
  const output = task
    ? english(TASK_ENDS[task.state as keyof typeof TASK_ENDS], {
        words: task.result?.summary ?? task.reason ?? english('failed.unknownEnd'),
      })
    : english('failed.taskGone');
  await replaceStep(db, runId, index, { ok, output: [output, task?.result?.said ?? ''].filter(Boolean).join('\n\n') });
  return { over: true, ok };
}

export const createRoutineActivities = (deps: RoutineDeps): RoutineActivities => ({
  openRun: recording((input) => openRun(deps, input)),
  runRoutineStep: beating((input) => runRoutineStep(deps, input)),
  endTaskStep: recording((input) => endTaskStep(deps, input)),
  closeRun: recording((input) => closeAndTell(deps, input)),
});

/** Closes the run and puts its result into the outbox of its chat. The outbox id is the same on every attempt. */
async function closeAndTell(deps: RoutineDeps, { runId, status, steps, reason }: CloseInput): Promise<string> {
  const { db } = deps;
  const before = await findRun(db, runId);
  if (!before) throw fail('NotFound', `Run ${runId} is not in the database.`);
  const ended =
    status === 'failed' &&
    before.results.every((result) => result.ok) &&
    !(await findRoutine(db, before.chat_id, before.routine_id));
  const why = reason ?? (ended ? english('failed.routineGone') : undefined);
  const run = await closeRun(db, runId, status, summaryOf(before.results, steps, why));
  // a turn of the chat has told its end itself
  const outboxId = (await lastSentOfRun(db, runId)) ?? (await tellResult(deps, run));
  await endOnce(deps, run);
  return outboxId;
}

/** A schedule that brings the same again and again says so at most once in this time. */
const FOLDED_MS = HOUR;

/** The same result as before is told in a few words, and not each time. */
async function tellResult({ db }: RoutineDeps, run: RoutineRun): Promise<string> {
  const outboxId = `out_${run.id}_result`;
  const say = await sayTo(db, run.chat_id);
  const { times, toldAt } = run.scheduled_for && !run.note ? await sameResults(db, run) : { times: 0, toldAt: null };
  if (times > 1 && toldAt && Date.now() - toldAt.getTime() < FOLDED_MS) {
    await insertDropped(db, { id: outboxId, chatId: run.chat_id, kind: 'result', body: foldedText(run, times, say) });
    return outboxId;
  }
  await recordNotice(db, {
    chatId: run.chat_id,
    outboxId,
    text: times > 0 ? foldedText(run, times, say) : resultText(run, say),
    kind: 'result',
    sources: sourcesOfRun(run),
    ...(run.status === 'completed' && { unasked: 'routine' as const }),
  });
  return outboxId;
}

/** A schedule that fires once goes with its run. */
async function endOnce({ db, temporal }: RoutineDeps, { cron_id, scheduled_for }: RoutineRun): Promise<void> {
  const cron = cron_id && scheduled_for ? await findCronById(db, cron_id) : undefined;
  if (!cron || !isOnce(cron.schedule)) return;
  await deleteCron(db, cron.id);
  await deleteSchedule(temporal, cron.id);
}

/** Sources of foreign text in the result of a run: what its tools read. */
function sourcesOfRun(run: RoutineRun): Source[] {
  // a prompt may read anything
  const reads = run.results.some((result) => result.tool === PROMPT_STEP || tools.get(result.tool)?.reads.length);
  return reads ? [{ kind: 'routine', label: run.routine_name }] : [];
}

/** One that is later than this says when it was due. */
const LATE_MS = 60_000;

export const createReminderActivities = ({ db, config }: { db: Db; config: Config }): ReminderActivities => ({
  sayReminder: recording(async (reminderId: string) => {
    const reminder = await findReminder(db, reminderId);
    if (!reminder || reminder.state === 'removed') return null;
    const outboxId = `out_${reminderId}_said`;
    // first the message, which is stored once for its id: a kill before the mark says nothing twice
    const say = await sayTo(db, reminder.chat_id);
    const text = reminderText(reminder, await zoneOf(db, reminder.chat_id, config), say);
    await recordNotice(db, { chatId: reminder.chat_id, outboxId, text, kind: 'notice', sources: reminder.sources });
    await markSaid(db, reminderId);
    return { outboxId, channel: reminder.channel };
  }),
});

function reminderText({ what, due_at }: Reminder, timeZone: string, say: Say): string {
  const isLate = Date.now() - due_at.getTime() > LATE_MS;
  const late = isLate ? [say('reminder.late', { time: describeTime(due_at, timeZone) })] : [];
  return [say('reminder.said', { what }), ...late].join(' ');
}
