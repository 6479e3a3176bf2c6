import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { type Model, ModelError } from '../../../adapters/model/model.ts';
import type { ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { askForMore } from '../../../domain/model/budget-texts.ts';
import { afterFailure, type Patience, patienceFrom } from '../../../domain/model/patience.ts';
import { english } from '../../../domain/texts/say.ts';
import { endStaleAnswers } from '../../../store/chats/threads/items.ts';
import { tellDelay } from '../../../store/turns/steps/model-waits.ts';
import { loadSubject, type StepSubject } from '../../../store/turns/steps/step-subject.ts';
import { type History, loadHistory } from '../../../store/turns/steps/transcript.ts';
import { stepsEnded } from '../../../telemetry/metrics.ts';
import type { ActivityDeps } from '../../activity-deps.ts';
import { asFailure, fail, finalOf } from '../../failure.ts';
import { beat } from '../../heartbeat.ts';
import { stopAtLimit, tellAfterStep, turnMark } from '../limits/budgets.ts';
import { LostAnswers } from '../limits/lost-answers.ts';
import { ModelWaits, patienceLimits } from '../limits/model-waits.ts';
import { SharedLimits } from '../limits/shared-limits.ts';
import { turnEnded } from '../turn-records.ts';
import { answerWith } from './answer.ts';
import { compactWith } from './compact-turn.ts';

/** The person is told when nobody worked on a turn for this long. */
const TELL_DELAY_MS = 8_000;
/** Limit for attempts that ended for other reasons than the model: a dead worker, a store that was away. */
const MOST_OTHERS = 30;
/** The second model takes over at once when the first one asks for a longer wait. */
const FALLBACK_AFTER_MS = 5_000;

/**
 * One model step: loads the context, asks the model, and stores the answer with all that follows from it in one
 * transaction. A retry finds the stored answer and pays nothing. The heartbeat passes on how long earlier attempts
 * waited, and what they have paid for in vain.
 */
export const createThink =
  (given: ActivityDeps) =>
  async (input: ThinkInput): Promise<ThinkResult> => {
    // a setting may bring another model meanwhile: a step has one
    const deps = { ...given };
    const info = activityInfo();
    let patience = patienceFrom(info.heartbeatDetails);
    const others = info.attempt - 1 - patience.failures;
    if (others >= MOST_OTHERS)
      throw fail('Internal', english('failed.never', { count: info.attempt }), { final: true });
    const waits = new ModelWaits(deps, input, patience);
    const lost = new LostAnswers(info);
    const begun = performance.now();
    const passedOn = () => ({ ...patience, ...lost.details });
    const stop = beat(passedOn);
    try {
      const result = await answerStep(deps, input, patience, { waits, lost });
      await waits.answered(patience.failures > 0);
      stepsEnded.add({ outcome: 'answered' });
      if (result.next === 'closed' && result.outboxId) turnEnded(deps, input.turnId, 'completed');
      return patience.waitedMs > 0 ? { ...result, waitedMs: patience.waitedMs } : result;
    } catch (error) {
      stepsEnded.add({ outcome: error instanceof ModelError ? error.type : 'other' });
      if (!(error instanceof ModelError && error.retryable)) {
        if (lost.details.lost) heartbeat(passedOn());
        throw others + 1 >= MOST_OTHERS && !cancellationSignal().aborted ? finalOf(asFailure(error)) : asFailure(error);
      }
      const verdict = afterFailure(patience, error, performance.now() - begun, patienceLimits(deps), Math.random());
      if (verdict.what === 'give up')
        throw fail(error.type, `${verdict.limit ? waits.opening(error) : ''}${error.message}`, { final: true });
      patience = verdict.next;
      heartbeat(passedOn());
      await waits.failed(verdict, error);
      throw fail(error.type, error.message, { nextRetryDelayMs: verdict.waitMs });
    } finally {
      stop();
    }
  };

async function answerStep(
  deps: ActivityDeps,
  input: ThinkInput,
  before: Patience,
  { waits, lost }: { waits: ModelWaits; lost: LostAnswers },
): Promise<ThinkResult> {
  const { db, model } = deps;
  const info = activityInfo();
  // the dialogue is read in parallel with the data that says whether it is needed, because it nearly always is
  const { FETCH_TIME_ZONE: zone } = deps.config;
  const [subject, history] = await Promise.all([loadSubject(db, input, model, zone), loadHistory(db, input.threadId)]);
  if (subject) waits.preferences = subject.preferences;
  if (!subject) throw fail('NotFound', `Turn ${input.turnId} is not in the database.`);
  if (subject.stored) return { ...subject.stored, chatMicroUsd: subject.spentEver };
  if (info.attempt > 1) {
    const streamed = await endStaleAnswers(db, input.turnId, input.threadId);
    await lost.countEarlier(deps, input, subject, streamed);
  }
  if (subject.turn.status !== 'in_progress') return closed(subject);
  const mark = turnMark(deps, subject);
  // a workflow of an earlier release waits for the next day by itself
  if (mark?.budget.endsAt && !input.asksAtBudget)
    throw fail('ModelRateLimited', askForMore(mark), {
      nextRetryDelayMs: Math.max(mark.budget.endsAt - Date.now(), 1_000),
    });
  if (mark && input.asksAtBudget)
    return await stopAtLimit(deps, input, { subject, history, mark, model: modelFor(model, subject) });
  if (idleMs(input, before, subject) > TELL_DELAY_MS) await tellDelay(db, input);

  const name = modelFor(model, subject);
  // a person who writes may have bought more since the limit was met
  const limits = new SharedLimits(db, subject.limits, { probes: input.step === 1 && info.attempt === 1 });
  const watched = { ...deps, model: lost.watched(deps, limits.watched(waits.watched()), input, subject) };
  const doStep = isCompaction(input, subject) ? compactWith : answerWith;
  const step = async (asked: string, read: History): Promise<ThinkResult> => {
    const result = await doStep(watched, asked, input, subject, read).catch(async (error: unknown) => {
      await lost.failed(deps, input, subject, error);
      throw error;
    });
    await lost.stored();
    await tellAfterStep(deps, subject, result);
    return { ...result, chatMicroUsd: subject.spentEver + result.usage.microUsd };
  };
  try {
    return await step(name, history);
  } catch (first) {
    const { fallback } = model;
    if (!fallback || fallback === name || !(first instanceof ModelError) || !takesOver(first, info.attempt))
      throw first;
    try {
      return await step(fallback, await loadHistory(db, input.threadId));
    } catch (second) {
      throw sooner(first, second);
    }
  }
}

/** A message that comes while it sums up is answered by the step after it. */
const isCompaction = ({ step }: ThinkInput, { turn }: StepSubject): boolean => turn.compaction && step === 1;

/** How long nobody worked on the turn. Waiting for the model does not count. */
function idleMs(input: ThinkInput, before: Patience, subject: StepSubject): number {
  const info = activityInfo();
  if (info.attempt > 1) return before.failures > 0 ? 0 : Date.now() - info.scheduledTimestampMs;
  return input.step === 1 ? Date.now() - (subject.turn.started_at ?? subject.turn.created_at).getTime() : 0;
}

/** The second model takes over when retrying the first is pointless, takes long, or was already tried. */
const takesOver = (error: ModelError, attempt: number): boolean =>
  error.type !== 'ContextOverflow' &&
  (!error.retryable || attempt > 1 || error.silent || (error.retryAfterMs ?? 0) > FALLBACK_AFTER_MS);

/** Of the failures of both models, the one that lets the step continue sooner. */
function sooner(first: ModelError, second: unknown): unknown {
  if (!(second instanceof ModelError) || !first.retryable) return second;
  if (!second.retryable || (first.type === 'ModelRateLimited' && second.type !== 'ModelRateLimited')) return first;
  return (first.retryAfterMs ?? Number.POSITIVE_INFINITY) < (second.retryAfterMs ?? Number.POSITIVE_INFINITY)
    ? first
    : second;
}

const closed = (subject: StepSubject): ThinkResult => ({
  next: 'closed',
  calls: [],
  autonomy: subject.autonomy,
  autoApprove: false,
  usage: { inputTokens: 0, outputTokens: 0, microUsd: 0 },
});

const modelFor = (model: Model, subject: StepSubject): string => {
  const chosen = subject.turn.model ?? subject.preferences.model ?? subject.thread.model;
  // a thread that began with the practice model continues with the real one once it is set up
  return model.kind === 'practice' || chosen === 'auto' || chosen === 'practice' ? model.name : chosen;
};
