import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { ConversationView, Phase } from '../contracts/conversation.ts';
import { AGENT_PHASE } from '../contracts/signals.ts';
import { type FailureType, failures } from '../domain/failures.ts';

const phaseKey = defineSearchAttributeKey(AGENT_PHASE, 'KEYWORD');

/** What an operator reads in the Web UI: what this chat does, waits for and has spent, rebuilt from state at every change. Costs no history but for changes of phase. */
export class Board {
  view: ConversationView;
  step = 0;
  since: string;
  tokens = 0;
  /** type and sentence of the last turn's failure in this run, until a turn ends well */
  failure: { type: FailureType; message: string } | null = null;
  constructor(carried: { turnsDone: number; spentMicroUsd: number }, since: string) {
    this.view = { phase: 'idle', turnId: null, waitingFor: null, queuedTurns: [], ...carried };
    this.since = since;
  }

  show(phase: Phase, what: string, change: Partial<ConversationView> = {}): void {
    if (phase !== this.view.phase) {
      this.since = new Date().toISOString();
      upsertSearchAttributes([{ key: phaseKey, value: phase }]);
    }
    this.view = { ...this.view, ...change, phase };
    setCurrentDetails(
      [
        `**${phase === 'idle' ? 'Idle' : phase === 'waiting' ? 'Waiting for a person' : 'Working'}** since ${this.since}: ${what}`,
        '',
        // the Web UI shows some five lines before one has to scroll: what matters most comes first
        ...(this.failure
          ? [
              `- **last turn failed**: ${this.failure.type}: ${this.failure.type === 'BudgetExceeded' ? this.failure.message : failures[this.failure.type].tell}`,
            ]
          : []),
        `- spent: $${(this.view.spentMicroUsd / 1_000_000).toFixed(4)}, ${this.tokens} tokens in this run`,
        `- turn: ${this.view.turnId ? `\`${this.view.turnId}\`, model step ${this.step}` : 'none'}; queued ${this.view.queuedTurns.length}, done ${this.view.turnsDone}`,
      ].join('\n'),
    );
  }
}
