import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ModelError } from '../../../adapters/model/model.ts';
import type { ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { stepKey } from '../../../contracts/ids.ts';
import { compactionPoint } from '../../../domain/chat/context/context.ts';
import { contextIn, summedWithin } from '../../../domain/model/context-size.ts';
import { beginCompaction, storeCompaction } from '../../../store/turns/compaction.ts';
import type { StepSubject } from '../../../store/turns/steps/step-subject.ts';
import type { History } from '../../../store/turns/steps/transcript.ts';
import type { ActivityDeps } from '../../activity-deps.ts';
import { sumUp } from '../context/compact.ts';
import { turnEnded } from '../turn-records.ts';

/**
 * Sums up everything before the last message of the person, whatever its size. What they wrote last stays, with its
 * answer.
 */
export async function compactWith(
  deps: ActivityDeps,
  modelName: string,
  input: ThinkInput,
  subject: StepSubject,
  history: History,
): Promise<ThinkResult> {
  await beginCompaction(deps.db, input);
  const summary = await summaryOf(deps, modelName, input, subject, history);
  const before = history.messages.length + (history.summary === null ? 0 : 1);
  const { result, ended } = await storeCompaction(deps.db, input, subject, {
    summary,
    before,
    after: summary ? history.messages.length - summary.messages + 1 : before,
    model: modelName,
    usage: summary?.spent ?? { inputTokens: 0, outputTokens: 0, microUsd: 0 },
  });
  if (ended) turnEnded(deps, input.turnId, 'completed');
  return result;
}

/**
 * Null when there is nothing before the last message. Asks again in smaller parts when the endpoint accepts less than
 * expected.
 */
async function summaryOf(
  { config, model }: ActivityDeps,
  modelName: string,
  input: ThinkInput,
  subject: StepSubject,
  history: History,
) {
  const point = compactionPoint(history.messages, history.calls, 0);
  if (point === null) return null;
  const summaryModel = model.kind === 'practice' ? undefined : config.SUMMARY_MODEL;
  const { contextTokens } = await model.facts(summaryModel ?? modelName);
  const at = {
    ...input,
    group: subject.group,
    modelName,
    summaryModel,
    budgetTokens: summedWithin(contextTokens, config.FETCH_CONTEXT_TOKENS),
    signal: cancellationSignal(),
    requestId: `${stepKey(input.turnId, input.step)}#${activityInfo().attempt}`,
  };
  try {
    return await sumUp(model, history, point, at);
  } catch (error) {
    if (!(error instanceof ModelError && error.type === 'ContextOverflow')) throw error;
    const named = contextIn(error.message);
    if (named !== null) await model.learn(modelName, { contextTokens: named });
    const budgetTokens = Math.min(summedWithin(named ?? undefined, at.budgetTokens), Math.floor(at.budgetTokens / 4));
    return await sumUp(model, history, point, { ...at, budgetTokens });
  }
}
