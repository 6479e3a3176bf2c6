import { defineSearchAttributeKey } from '@temporalio/common';
import { patched, upsertSearchAttributes } from '@temporalio/workflow';
import type { Phase } from '../../contracts/conversation.ts';
import type { Channel } from '../../contracts/ids.ts';
import {
  AGENT_PHASE,
  AGENT_SINCE,
  AGENT_THREAD,
  AGENT_WAITS_FOR,
  CHAT_CHANNEL,
  SPEND_MICRO_USD,
} from '../../contracts/signals.ts';

/** Runs from before this change set only their phase, and never `failed`. */
const LISTED = '2026-11-listed-by-operators';

const phaseKey = defineSearchAttributeKey(AGENT_PHASE, 'KEYWORD');
const sinceKey = defineSearchAttributeKey(AGENT_SINCE, 'DATETIME');
const channelKey = defineSearchAttributeKey(CHAT_CHANNEL, 'KEYWORD');
const threadKey = defineSearchAttributeKey(AGENT_THREAD, 'KEYWORD');
const waitsForKey = defineSearchAttributeKey(AGENT_WAITS_FOR, 'KEYWORD');
const spentKey = defineSearchAttributeKey(SPEND_MICRO_USD, 'INT');

/** Search attributes that operators filter by. They hold no text of a person, because they are never encrypted. */
export interface Listed {
  channel: Channel;
  thread: string | null;
  waitsFor: 'question' | 'approval' | 'workspace' | 'resume' | 'limit' | 'plan' | null;
  spentMicroUsd: number;
}

export const canBeFailed = (): boolean => patched(LISTED);

/** One command for all attributes, sent only when the phase changes. */
export function list(phase: Phase, { channel, thread, waitsFor, spentMicroUsd }: Listed): void {
  if (!patched(LISTED)) upsertSearchAttributes([{ key: phaseKey, value: phase }]);
  else
    upsertSearchAttributes([
      { key: phaseKey, value: phase },
      { key: sinceKey, value: new Date() },
      { key: channelKey, value: channel },
      ...(thread === null ? [] : [{ key: threadKey, value: thread }]),
      { key: waitsForKey, value: waitsFor },
      { key: spentKey, value: Math.round(spentMicroUsd) },
    ]);
}
