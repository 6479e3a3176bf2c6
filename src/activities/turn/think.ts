import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { type Model, ModelError } from '../../adapters/model/model.ts';
import type { ThinkInput, ThinkResult } from '../../contracts/conversation.ts';
import { stepKey } from '../../contracts/ids.ts';
import { shownOfMessage, toModelMessages } from '../../domain/chat/context.ts';
import { accessOf, type ToolAccess } from '../../domain/consent/tool-access.ts';
import { breachText, dayBreach } from '../../domain/model/budgets.ts';
import { afterFailure, type Patience, patienceFrom } from '../../domain/model/patience.ts';
import { costOf } from '../../domain/model/price-book.ts';
import { cut } from '../../domain/text/storable.ts';
import { derivedId } from '../../store/chats/ids.ts';
import { endStaleAnswers } from '../../store/chats/items.ts';
import { tellDelay } from '../../store/steps/model-waits.ts';
import type { CheckedCall } from '../../store/steps/new-calls.ts';
import { loadSubject, type StepSubject } from '../../store/steps/step-subject.ts';
import { storeAnswer } from '../../store/steps/steps.ts';
import { type History, loadHistory } from '../../store/steps/transcript.ts';
import { modelTools, prepareCall, tools } from '../../tools/registry.ts';
import { dangerOf } from '../../tools/tool.ts';
import type { ActivityDeps } from '../deps.ts';
import { asFailure, fail, finalOf } from '../failure.ts';
import { beat } from '../heartbeat.ts';
import { AnswerStream } from './answer-stream.ts';
import { fittingHistory } from './compact.ts';
import { logEndedTurn } from './end-line.ts';
import { routeToKennel } from './kennel-routing.ts';
import { ModelWaits, patienceLimits } from './model-waits.ts';
import { systemPrompt } from './prompt.ts';
import { withTaint } from './provenance.ts';

/** A turn that nobody worked on for this long is told about it. */
const TELL_DELAY_MS = 8_000;
/** Attempts that nothing of the model has ended: a worker that died, a store that is away. */
const MOST_OTHERS = 30;
/** The second model takes over at once where the first one asks for a longer wait than this. */
const FALLBACK_AFTER_MS = 5_000;

/**
 * One model step: loads the context, asks the model, and stores the answer with everything that follows from it in one
 * transaction. A retry finds the stored answer and pays nothing. What attempts have waited for goes from one to the next in the heartbeat.
 */
export const createThink =
  (deps: ActivityDeps) =>
  async (input: ThinkInput): Promise<ThinkResult> => {
    const info = activityInfo();
    let patience = patienceFrom(info.heartbeatDetails);
    const others = info.attempt - 1 - patience.failures;
    if (others >= MOST_OTHERS) throw fail('Internal', `This step was begun ${info.attempt} times and never ended.`, { final: true });
    const waits = new ModelWaits(deps, input, patience);
    const begun = performance.now();
    const stop = beat(() => patience);
    try {
      const result = await answerStep(deps, input, patience, waits);
      await waits.answered(patience.failures > 0);
      if (result.next === 'closed' && result.outboxId) logEndedTurn(deps, input.turnId);
      return patience.waitedMs > 0 ? { ...result, waitedMs: patience.waitedMs } : result;
    } catch (error) {
      if (!(error instanceof ModelError && error.retryable))
        throw others + 1 >= MOST_OTHERS && !cancellationSignal().aborted ? finalOf(asFailure(error)) : asFailure(error);
      const verdict = afterFailure(patience, error, performance.now() - begun, patienceLimits(deps), Math.random());
      if (verdict.what === 'give up') throw fail(error.type, `${verdict.limit ? waits.opening(error) : ''}${error.message}`, { final: true });
      patience = verdict.next;
      heartbeat(patience);
      await waits.failed(verdict, error);
      throw fail(error.type, error.message, { nextRetryDelayMs: verdict.waitMs });
    } finally {
      stop();
    }
  };

async function answerStep(deps: ActivityDeps, input: ThinkInput, before: Patience, waits: ModelWaits): Promise<ThinkResult> {
  const { db, model } = deps;
  const info = activityInfo();
  // the dialogue is read beside, not after, what decides whether it is needed: it nearly always is
  const [subject, history] = await Promise.all([loadSubject(db, input), loadHistory(db, input.threadId)]);
  if (!subject) throw fail('NotFound', `Turn ${input.turnId} is not in the database.`);
  if (subject.stored) return subject.stored;
  if (subject.turn.status !== 'in_progress') return closed(subject);
  if (info.attempt > 1) await endStaleAnswers(db, input.turnId, input.threadId);
  refuseOverBudget(deps, subject);
  if (idleMs(input, before, subject) > TELL_DELAY_MS) await tellDelay(db, input);

  const name = modelFor(model, subject);
  const watched = { ...deps, model: waits.watched() };
  try {
    return await answerWith(watched, name, input, subject, history);
  } catch (first) {
    const { fallback } = model;
    if (!fallback || fallback === name || !(first instanceof ModelError) || !takesOver(first, info.attempt)) throw first;
    try {
      return await answerWith(watched, fallback, input, subject, await loadHistory(db, input.threadId));
    } catch (second) {
      throw sooner(first, second);
    }
  }
}

/** How long nobody worked on the turn. Waits for the model are no such time. */
function idleMs(input: ThinkInput, before: Patience, subject: StepSubject): number {
  const info = activityInfo();
  if (info.attempt > 1) return before.failures > 0 ? 0 : Date.now() - info.scheduledTimestampMs;
  return input.step === 1 ? Date.now() - (subject.turn.started_at ?? subject.turn.created_at).getTime() : 0;
}

/** The second model takes over where trying the first again is pointless, takes long, or has been tried. */
const takesOver = (error: ModelError, attempt: number): boolean =>
  error.type !== 'ContextOverflow' && (!error.retryable || attempt > 1 || error.silent || (error.retryAfterMs ?? 0) > FALLBACK_AFTER_MS);

/** Of what both models said, that which lets the step go on first. */
function sooner(first: ModelError, second: unknown): unknown {
  if (!(second instanceof ModelError) || !first.retryable) return second;
  if (!second.retryable || (first.type === 'ModelRateLimited' && second.type !== 'ModelRateLimited')) return first;
  return (first.retryAfterMs ?? Number.POSITIVE_INFINITY) < (second.retryAfterMs ?? Number.POSITIVE_INFINITY) ? first : second;
}

const closed = (subject: StepSubject): ThinkResult => ({
  next: 'closed',
  calls: [],
  autonomy: subject.autonomy,
  autoApprove: false,
  usage: { inputTokens: 0, outputTokens: 0, microUsd: 0 },
});

function refuseOverBudget({ config }: ActivityDeps, subject: StepSubject): void {
  const limits = { tokens: config.FETCH_MAX_DAY_TOKENS, microUsd: Math.round(config.FETCH_MAX_DAY_USD * 1_000_000) };
  const breach = dayBreach(limits, subject.spentToday);
  if (breach) throw fail('BudgetExceeded', breachText(breach));
}

async function answerWith(deps: ActivityDeps, modelName: string, input: ThinkInput, subject: StepSubject, history: History): Promise<ThinkResult> {
  const budgetTokens = deps.config.FETCH_CONTEXT_TOKENS;
  try {
    return await answerOnce(deps, { modelName, budgetTokens }, input, subject, history);
  } catch (error) {
    // what the endpoint can take is smaller than what we thought: sum up more and try once again
    if (error instanceof ModelError && error.type === 'ContextOverflow')
      return await answerOnce(deps, { modelName, budgetTokens: Math.floor(budgetTokens / 4) }, input, subject, await loadHistory(deps.db, input.threadId));
    throw error;
  }
}

async function answerOnce(
  { db, config, model }: ActivityDeps,
  { modelName, budgetTokens }: { modelName: string; budgetTokens: number },
  input: ThinkInput,
  subject: StepSubject,
  loaded: History,
): Promise<ThinkResult> {
  const key = stepKey(input.turnId, input.step);
  const { attempt } = activityInfo();
  const signal = cancellationSignal();
  const { history, spent } = await fittingHistory(db, model, loaded, {
    threadId: input.threadId,
    turnId: input.turnId,
    group: subject.group,
    modelName,
    budgetTokens,
    signal,
    requestId: key,
  });
  const readUpto = history.messages.at(-1)?.ord ?? history.upto;
  const at = { turnId: input.turnId, threadId: input.threadId };
  const text = new AnswerStream(db, { ...at, id: derivedId('item_', key, attempt, modelName, budgetTokens, 'say'), kind: 'agent_message' });
  const think = (part: number) =>
    new AnswerStream(db, { ...at, id: derivedId('item_', key, attempt, modelName, budgetTokens, 'reason', part), kind: 'agent_reasoning' });
  const access = accessOf(subject.turn, subject.thread);
  let thoughts = 0;
  let reasoning = think(thoughts);
  const onDelta = (kind: 'agent_message' | 'agent_reasoning', delta: string): void => {
    // a thought is over when the model speaks; one that comes after that is another
    if (kind === 'agent_message' && !reasoning.isEmpty) {
      text.after(reasoning.end('completed'));
      reasoning = think(++thoughts);
    }
    (kind === 'agent_message' ? text : reasoning).add(delta);
  };
  try {
    const answer = await model.complete({
      model: modelName,
      messages: toModelMessages(systemPrompt(config, subject), history.summary, history.messages, history.calls, history.files, shownOfMessage(budgetTokens)),
      tools: modelTools(access),
      signal,
      onDelta,
      requestId: `${key}#${attempt}`,
    });
    await reasoning.end('completed');
    const { usage } = answer;
    const cost = costOf([answer.model, modelName], usage, model.prices);
    return await storeAnswer(db, input, subject, {
      text: answer.text,
      calls: await routeToKennel(
        db,
        config,
        subject.chatId,
        await withTaint(
          db,
          { ...at, ...subject },
          history,
          answer.calls.map((call) => checkCall(call, access)),
        ),
      ),
      model: answer.model,
      // the summary that made room was paid for as well
      usage: {
        inputTokens: usage.inputTokens + spent.inputTokens,
        outputTokens: usage.outputTokens + spent.outputTokens,
        microUsd: cost.microUsd + spent.microUsd,
        ...(cost.unpriced + spent.unpriced > 0 && { unpriced: cost.unpriced + spent.unpriced }),
      },
      readUpto,
      item: await text.settle(),
    });
  } catch (error) {
    // what was streamed so far is kept as interrupted; the next attempt streams under another item
    await Promise.all([text.end('interrupted'), reasoning.end('interrupted')]).catch(() => {});
    throw error;
  }
}

const modelFor = (model: Model, subject: StepSubject): string => {
  const chosen = subject.turn.model ?? subject.thread.model;
  // a thread that was begun with the practice model goes on with the real one once there is one
  return model.kind === 'practice' || chosen === 'auto' || chosen === 'practice' ? model.name : chosen;
};

function checkCall(call: { id: string; name: string; arguments: string }, access: ToolAccess): CheckedCall {
  const prepared = prepareCall(call.name, call.arguments, access);
  if (!prepared.ok) {
    // the arguments did not parse: an empty object is kept, so that no later request carries the malformed text
    return {
      providerId: call.id,
      args: {},
      item: tools.get(call.name)?.item,
      refusal: prepared.error,
      verdict: {
        name: safeName(call.name),
        danger: 'SAFE',
        effect: 'idempotent',
        summary: `${safeName(call.name)}: bad arguments`,
        refused: true,
        timeoutMs: 1000,
      },
    };
  }
  const { tool, args } = prepared;
  const summary = tool.summarise ? cut(`${tool.name} ${tool.summarise(args as never)}`, 100) : tool.name;
  return {
    providerId: call.id,
    args: args as Record<string, unknown>,
    item: tool.item,
    verdict: { name: tool.name, danger: dangerOf(tool, args), effect: tool.effect, summary, timeoutMs: tool.timeoutMs, ...(tool.preview && { preview: true }) },
  };
}

/** Providers reject requests whose history has a tool name outside this grammar. */
const safeName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
