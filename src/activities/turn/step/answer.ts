import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { type ModelAnswer, ModelError, type ModelMessage, type ModelUsage } from '../../../adapters/model/model.ts';
import { hasPictures } from '../../../adapters/model/request/pictures.ts';
import type { StepUsage, ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { stepKey } from '../../../contracts/ids.ts';
import { shownOfMessage, toModelMessages } from '../../../domain/chat/context/context.ts';
import { accessOf, type ToolAccess } from '../../../domain/consent/tool-access.ts';
import { costOf } from '../../../domain/model/price-book.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { CheckedCall } from '../../../store/turns/steps/new-calls.ts';
import type { StepSubject } from '../../../store/turns/steps/step-subject.ts';
import { storeAnswer } from '../../../store/turns/steps/steps.ts';
import { type History, loadHistory } from '../../../store/turns/steps/transcript.ts';
import { keepForTurn, skillsAmong } from '../../../store/turns/turn-extensions.ts';
import { type AddedTools, addedTools } from '../../../tools/extensions/added-tools.ts';
import { modelTools } from '../../../tools/registry.ts';
import type { ActivityDeps } from '../../activity-deps.ts';
import { fittingHistory } from '../context/compact.ts';
import { systemPrompt } from '../context/prompt.ts';
import { type PromptFacts, promptFacts } from '../context/prompt-facts.ts';
import { sourcesOf, withTaint } from '../context/provenance.ts';
import { checkCall } from './check-calls.ts';
import { routeToKennel } from './kennel-routing.ts';
import { StepStream } from './step-stream.ts';
import { answerWithoutModel } from './words.ts';

/** Asks one model and stores its answer. Asks once more with a smaller context when the endpoint accepts less than expected. */
export async function answerWith(deps: ActivityDeps, modelName: string, input: ThinkInput, subject: StepSubject, history: History): Promise<ThinkResult> {
  const budgetTokens = deps.config.FETCH_CONTEXT_TOKENS;
  try {
    return await answerOnce(deps, { modelName, budgetTokens, input, subject }, history);
  } catch (error) {
    if (!(error instanceof ModelError && error.type === 'ContextOverflow')) throw error;
    return await answerOnce(deps, { modelName, budgetTokens: Math.floor(budgetTokens / 4), input, subject }, await loadHistory(deps.db, input.threadId));
  }
}

interface Asking {
  modelName: string;
  /** the history is summed up to fit this */
  budgetTokens: number;
  input: ThinkInput;
  subject: StepSubject;
}

async function answerOnce(deps: ActivityDeps, asking: Asking, loaded: History): Promise<ThinkResult> {
  const { threadId, turnId } = asking.input;
  const key = [stepKey(turnId, asking.input.step), activityInfo().attempt, asking.modelName, asking.budgetTokens] as const;
  const fitting = await fitHistory(deps, asking, loaded);
  const offer = await offeredTools(deps.db, asking);
  const stream = new StepStream(deps.db, { threadId, turnId }, key);
  try {
    const messages = messagesOf(deps, asking, fitting, offer.skills);
    const { answer, asked } = await ask(deps, asking, messages, offer, stream);
    await stream.endReasoning();
    const calls = await checkedCalls(deps, asking, fitting.history, answer, offer);
    const { usage } = answer;
    return await storeAnswer(deps.db, asking.input, asking.subject, {
      text: answer.text,
      calls,
      // it has fields of calls by their position, so it goes with all of them or with none
      ...(calls.length === answer.calls.length && { state: answer.state }),
      model: answer.model,
      usage: costsOf(usage, costOf([answer.model, asked], usage, deps.model.prices), fitting.spent),
      cachedTokens: usage.cachedTokens,
      reasoningTokens: usage.reasoningTokens,
      readUpto: fitting.history.messages.at(-1)?.ord ?? fitting.history.upto,
      item: await stream.settle(),
    });
  } catch (error) {
    // what was streamed is kept as interrupted; the next attempt streams under another item
    await stream.interrupt().catch(() => {});
    throw error;
  }
}

/** What the request says: a history that fits the budget, and facts besides it. */
interface Fitting {
  history: History;
  /** what summing up has cost */
  spent: Required<StepUsage>;
  facts: PromptFacts;
}

async function fitHistory({ db, config, model }: ActivityDeps, { modelName, budgetTokens, input, subject }: Asking, loaded: History): Promise<Fitting> {
  const { threadId, turnId } = input;
  const at = {
    threadId,
    turnId,
    group: subject.group,
    modelName,
    summaryModel: model.kind === 'practice' ? undefined : config.SUMMARY_MODEL,
    budgetTokens,
    signal: cancellationSignal(),
    requestId: stepKey(turnId, input.step),
  };
  const tainted = sourcesOf(loaded, subject.group).length > 0;
  const [fitted, facts] = await Promise.all([
    fittingHistory(db, subject.turn.call ? null : model, loaded, at),
    promptFacts(db, config, { turnId, chatId: subject.chatId, tainted }),
  ]);
  return { ...fitted, facts };
}

/** What the turn may call, and the skills that its prompt names. */
interface Offer {
  access: ToolAccess;
  added: AddedTools;
  skills: Awaited<ReturnType<typeof skillsAmong>>;
}

async function offeredTools(db: Db, { input, subject }: Asking): Promise<Offer> {
  const extensions = await extensionsFor(db, input.turnId, subject);
  const [added, skills] = await Promise.all([addedTools(db, extensions), skillsAmong(db, extensions)]);
  return { access: accessOf(subject.turn, subject.thread), added, skills };
}

const messagesOf = ({ config }: ActivityDeps, { budgetTokens, subject }: Asking, { history, facts }: Fitting, skills: Offer['skills']): ModelMessage[] =>
  toModelMessages(
    systemPrompt(config, subject, facts.memories, skills),
    history.summary,
    history.messages,
    history.calls,
    history.files,
    shownOfMessage(budgetTokens),
    { before: history.openFrom, text: facts.work, map: facts.map },
  );

/** The answer, and the name of the model that was asked. Answers by itself where the call of the step is known. */
async function ask(
  deps: ActivityDeps,
  { modelName, input, subject }: Asking,
  messages: ModelMessage[],
  { access, added }: Offer,
  stream: StepStream,
): Promise<{ answer: ModelAnswer; asked: string }> {
  const { config, model } = deps;
  const key = stepKey(input.turnId, input.step);
  const asked = seeing(deps, modelName, messages);
  const known = answerWithoutModel(messages, { key, step: input.step, call: subject.turn.call, modelName });
  const answer =
    known ??
    (await model.complete({
      model: asked,
      effort: config.FETCH_REASONING_EFFORT,
      messages,
      tools: modelTools(access, [...added.values()]),
      signal: cancellationSignal(),
      onDelta: (kind, delta) => stream.add(kind, delta),
      requestId: `${key}#${activityInfo().attempt}`,
    }));
  return { answer, asked };
}

/** The calls of an answer, each with its verdict, what its turn had read, and the queue of its host. */
async function checkedCalls(
  { db, config }: ActivityDeps,
  { input, subject }: Asking,
  history: History,
  answer: ModelAnswer,
  { access, added }: Offer,
): Promise<CheckedCall[]> {
  const { chatId, group } = subject;
  const checked = answer.calls.map((call) => checkCall(call, access, added));
  const calls = await withTaint(db, { threadId: input.threadId, chatId, group }, history, checked, added);
  return await routeToKennel(db, config, chatId, calls, added);
}

/** The cost of a step. The summary that made room was paid for as well. */
function costsOf(usage: ModelUsage, cost: { microUsd: number; unpriced: number }, spent: Required<StepUsage>): StepUsage {
  const unpriced = cost.unpriced + spent.unpriced;
  return {
    inputTokens: usage.inputTokens + spent.inputTokens,
    outputTokens: usage.outputTokens + spent.outputTokens,
    microUsd: cost.microUsd + spent.microUsd,
    ...(unpriced > 0 && { unpriced }),
  };
}

/** The model that sees pictures, where one is named. The fallback is left alone: it takes over when that one fails, too. */
const seeing = ({ config, model }: ActivityDeps, modelName: string, messages: ModelMessage[]): string =>
  config.VISION_MODEL && model.kind !== 'practice' && modelName !== model.fallback && hasPictures(messages) ? config.VISION_MODEL : modelName;

/** A turn keeps what its first step was offered. Most turns have nothing to keep. */
const extensionsFor = async (db: Db, turnId: string, { extensions: { hashes, kept } }: StepSubject): Promise<readonly string[]> =>
  kept || hashes.length === 0 ? hashes : await keepForTurn(db, turnId, hashes);
