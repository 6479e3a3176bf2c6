import { ApplicationFailure } from '@temporalio/workflow';
import type { ThinkResult } from '../../contracts/conversation.ts';
import { breachText, turnBreach, type Used } from '../../domain/model/budgets.ts';
import { thinkAs } from '../shared/policies.ts';
import { runCalls } from './calls.ts';
import type { Turn } from './turn-state.ts';

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
    const breach = turnBreach(limits, used);
    if (breach) throw ApplicationFailure.nonRetryable(breachText(breach), 'BudgetExceeded');
    used.steps += 1;
    board.step = used.steps;
    board.show('working', `model step ${used.steps}`, { turnId, waitingFor: null });
    const result = await thinkAs(`model step ${used.steps}`, { turnId, threadId, step: used.steps });
    clock.skip(result.waitedMs ?? 0);
    count(result, used, turn);
    if (result.outboxId) turn.send(result.outboxId);
    if (result.next === 'closed') return;
    used.toolCalls += result.calls.length;
    await runCalls(turn, result);
  }
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
