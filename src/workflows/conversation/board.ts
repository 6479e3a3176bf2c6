import { setCurrentDetails } from '@temporalio/workflow';
import type { ConversationView, Phase } from '../../contracts/conversation.ts';
import type { Channel } from '../../contracts/ids.ts';
import { type FailureType, failures } from '../../domain/failures.ts';
import { canBeFailed, list } from '../shared/search-attributes.ts';

/**
 * What an operator reads in the Web UI: what this chat does, waits for and has spent. It is rebuilt from state at every
 * change, and only a change of phase costs history.
 */
export class Board {
  view: ConversationView;
  step = 0;
  since: string;
  tokens = 0;
  /** type and sentence of the last failed turn in this run, until a turn succeeds */
  failure: { type: FailureType; message: string } | null = null;
  thread: string | null = null;
  waitsFor: 'question' | 'approval' = 'question';
  readonly channel: Channel;
  constructor(channel: Channel, carried: { turnsDone: number; spentMicroUsd: number }, since: string) {
    this.channel = channel;
    this.view = { phase: 'idle', turnId: null, waitingFor: null, queuedTurns: [], ...carried };
    this.since = since;
  }

  show(next: 'idle' | 'working' | 'waiting', what: string, change: Partial<ConversationView> = {}): void {
    const phase: Phase = next === 'idle' && this.failure && canBeFailed() ? 'failed' : next;
    if (phase !== this.view.phase) {
      this.since = new Date().toISOString();
      const { channel, thread, view } = this;
      list(phase, {
        channel,
        thread,
        waitsFor: phase === 'waiting' ? this.waitsFor : null,
        spentMicroUsd: view.spentMicroUsd,
      });
    }
    this.view = { ...this.view, ...change, phase };
    setCurrentDetails(
      [
        `**${HEADINGS[phase]}** since ${this.since}: ${what}`,
        '',
        // the Web UI shows about five lines without scrolling, so the most important come first
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

const HEADINGS: Record<Phase, string> = {
  idle: 'Idle',
  failed: 'Idle, and its last turn failed',
  waiting: 'Waiting for a person',
  working: 'Working',
};
