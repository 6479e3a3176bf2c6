import { ApplicationFailure, patched } from '@temporalio/workflow';
import type { ThinkResult } from '../../contracts/conversation.ts';
import { type Breach, breachText, turnBreach, type Used } from '../../domain/model/budgets.ts';
import { awaitBudget } from '../shared/await-answer.ts';
import { records, thinkAs } from '../shared/policies.ts';
import { runCalls } from './calls.ts';
import type { Turn } from './chat-state.ts';

/** Turns from before this change end when their tokens or their money are used up. */
const ASKS_AT_BUDGET = '2026-11-asks-at-budget';

/**
 * A turn: model step, tool calls, model step, ..., answer. Returns when an answer is stored; throws a failure of the
 * vocabulary, or a cancellation.
 */
export async function runTurn(turn: Turn): Promise<void> {
  const { turnId, threadId, limits, board, clock } = turn;
  const used: Required<Used> = { steps: 0, toolCalls: 0, tokens: 0, microUsd: 0, unpriced: 0, wallMs: 0 };
  board.thread = threadId;
  for (;;) {
    used.wallMs = clock.elapsed();
    const breach = breachOf(limits, used);
    if (breach) throw ApplicationFailure.nonRetryable(breachText(breach), 'BudgetExceeded');
    used.steps += 1;
    board.step = used.steps;
    board.show('working', `model step ${used.steps}`, { turnId, waitingFor: null });
    const result = await thinkAs(`model step ${used.steps}`, {
      turnId,
      threadId,
      step: used.steps,
      asksAtBudget: true,
    });
    clock.skip(result.waitedMs ?? 0);
    count(result, used, turn);
    if (result.outboxId) turn.send(result.outboxId);
    if (result.next === 'closed') return;
    if (result.asks) {
      await clock.pause(untilAnswered(turn, result.asks));
      // the step begins again, and finds what was answered
      used.steps -= 1;
      continue;
    }
    used.toolCalls += result.calls.length;
    await runCalls(turn, result);
  }
}

/** Of tokens and money, `think` knows more: what a person has allowed beyond the limit. */
function breachOf(limits: Turn['limits'], used: Used): Breach | null {
  const breach = turnBreach(limits, used);
  if (!breach?.asks || !patched(ASKS_AT_BUDGET)) return breach;
  return turnBreach({ ...limits, maxTokens: Number.POSITIVE_INFINITY, maxMicroUsd: Number.POSITIVE_INFINITY }, used);
}

/** Waits for the answer to the question at a budget, at the longest until the budget begins again. */
async function untilAnswered(
  { turnId, waits, board, decisions, send }: Turn,
  { questionId: id, opensAt }: NonNullable<ThinkResult['asks']>,
): Promise<void> {
  const what = 'an answer: may more be spent?';
  board.waitsFor = 'approval';
  board.show('waiting', `waiting for ${what}`, { turnId, waitingFor: what });
  const promises = awaitBudget({ id, decisions }, opensAt, {
    waits,
    remind: () => records.remind(id),
    send,
    expire: () => records.expire(id),
  });
  let next = promises.next();
  while (!next.done) next = promises.next(await next.value);
  delete decisions[id];
  board.show('working', 'going on after the answer', { turnId, waitingFor: null });
}

function count({ usage, chatMicroUsd }: ThinkResult, used: Required<Used>, { board }: Turn): void {
  const tokens = usage.inputTokens + usage.outputTokens;
  used.tokens += tokens;
  used.microUsd += usage.microUsd;
  used.unpriced += usage.unpriced ?? 0;
  board.tokens += tokens;
  // the store knows what a run had counted that was terminated
  board.view.spentMicroUsd = chatMicroUsd ?? board.view.spentMicroUsd + usage.microUsd;
}
