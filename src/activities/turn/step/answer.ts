import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ModelError, type ModelMessage } from '../../../adapters/model/model.ts';
import { hasPictures } from '../../../adapters/model/request/pictures.ts';
import type { ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { stepKey } from '../../../contracts/ids.ts';
import { shownOfMessage, toModelMessages } from '../../../domain/chat/context/context.ts';
import { accessOf, type ToolAccess } from '../../../domain/consent/tool-access.ts';
import { costOf } from '../../../domain/model/price-book.ts';
import { cut } from '../../../domain/text/storable.ts';
import { keepForTurn, skillsAmong } from '../../../store/extensions/turn-extensions.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { CheckedCall } from '../../../store/steps/new-calls.ts';
import type { StepSubject } from '../../../store/steps/step-subject.ts';
import { storeAnswer } from '../../../store/steps/steps.ts';
import { type History, loadHistory } from '../../../store/steps/transcript.ts';
import { type AddedTools, addedTools } from '../../../tools/extensions/added-tools.ts';
import { modelTools, prepareCall, tools } from '../../../tools/registry.ts';
import { dangerOf } from '../../../tools/tool.ts';
import type { ActivityDeps } from '../../activity-deps.ts';
import { fittingHistory } from '../context/compact.ts';
import { systemPrompt } from '../context/prompt.ts';
import { promptFacts } from '../context/prompt-facts.ts';
import { sourcesOf, withTaint } from '../context/provenance.ts';
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
  const { db, config, model } = deps;
  const { modelName, budgetTokens, input, subject } = asking;
  const { threadId, turnId } = input;
  const key = stepKey(turnId, input.step);
  const { attempt } = activityInfo();
  const signal = cancellationSignal();
  const at = {
    threadId,
    turnId,
    group: subject.group,
    modelName,
    summaryModel: model.kind === 'practice' ? undefined : config.SUMMARY_MODEL,
    budgetTokens,
    signal,
    requestId: key,
  };
  const tainted = sourcesOf(loaded, subject.group).length > 0;
  const [{ history, spent }, { memories, work, map }] = await Promise.all([
    fittingHistory(db, subject.turn.call ? null : model, loaded, at),
    promptFacts(db, config, { turnId, chatId: subject.chatId, tainted }),
  ]);
  const access = accessOf(subject.turn, subject.thread);
  const extensions = await extensionsFor(db, turnId, subject);
  const [added, skills] = await Promise.all([addedTools(db, extensions), skillsAmong(db, extensions)]);
  const stream = new StepStream(db, { threadId, turnId }, [key, attempt, modelName, budgetTokens]);
  try {
    const messages = toModelMessages(
      systemPrompt(config, subject, memories, skills),
      history.summary,
      history.messages,
      history.calls,
      history.files,
      shownOfMessage(budgetTokens),
      { before: history.openFrom, text: work, map },
    );
    const asked = seeing(deps, modelName, messages);
    const answer =
      answerWithoutModel(messages, { key, step: input.step, call: subject.turn.call, modelName }) ??
      (await model.complete({
        model: asked,
        effort: config.FETCH_REASONING_EFFORT,
        messages,
        tools: modelTools(access, [...added.values()]),
        signal,
        onDelta: (kind, delta) => stream.add(kind, delta),
        requestId: `${key}#${attempt}`,
      }));
    await stream.endReasoning();
    const { usage } = answer;
    const cost = costOf([answer.model, asked], usage, model.prices);
    const checked = answer.calls.map((call) => checkCall(call, access, added));
    const calls = await withTaint(db, { threadId, chatId: subject.chatId, group: subject.group }, history, checked, added);
    return await storeAnswer(db, input, subject, {
      text: answer.text,
      calls: await routeToKennel(db, config, subject.chatId, calls, added),
      state: answer.state,
      model: answer.model,
      // the summary that made room was paid for as well
      usage: {
        inputTokens: usage.inputTokens + spent.inputTokens,
        outputTokens: usage.outputTokens + spent.outputTokens,
        microUsd: cost.microUsd + spent.microUsd,
        ...(cost.unpriced + spent.unpriced > 0 && { unpriced: cost.unpriced + spent.unpriced }),
      },
      cachedTokens: usage.cachedTokens,
      reasoningTokens: usage.reasoningTokens,
      readUpto: history.messages.at(-1)?.ord ?? history.upto,
      item: await stream.settle(),
    });
  } catch (error) {
    // what was streamed is kept as interrupted; the next attempt streams under another item
    await stream.interrupt().catch(() => {});
    throw error;
  }
}

/** The model that sees pictures, where one is named. The fallback is left alone: it takes over when that one fails, too. */
const seeing = ({ config, model }: ActivityDeps, modelName: string, messages: ModelMessage[]): string =>
  config.VISION_MODEL && model.kind !== 'practice' && modelName !== model.fallback && hasPictures(messages) ? config.VISION_MODEL : modelName;

/** A turn keeps what its first step was offered. Most turns have nothing to keep. */
const extensionsFor = async (db: Db, turnId: string, { extensions: { hashes, kept } }: StepSubject): Promise<readonly string[]> =>
  kept || hashes.length === 0 ? hashes : await keepForTurn(db, turnId, hashes);

function checkCall(call: { id: string; name: string; arguments: string }, access: ToolAccess, added: AddedTools): CheckedCall {
  const prepared = prepareCall(call.name, call.arguments, access, added);
  if (!prepared.ok) {
    // the arguments did not parse. An empty object is stored, so that no later request carries the malformed text
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
    verdict: {
      ...{ name: tool.name, danger: dangerOf(tool, args), effect: tool.effect, summary, timeoutMs: tool.timeoutMs },
      ...(tool.preview && { preview: true }),
      ...(tool.onStore && { onStore: true }),
    },
  };
}

/** Providers reject a request whose history has a tool name outside this grammar. */
const safeName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
