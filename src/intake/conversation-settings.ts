import type { Config } from '../config.ts';
import type { TurnLimits, Waits } from '../contracts/conversation.ts';

const HOUR_MS = 3_600_000;

/** What a conversation is started with, from the configuration. */
export const conversationDefaults = (config: Config): { limits: TurnLimits; waits: Waits } => ({
  limits: {
    maxSteps: config.FETCH_MAX_STEPS,
    maxToolCalls: config.FETCH_MAX_TOOL_CALLS,
    maxTokens: config.FETCH_MAX_TURN_TOKENS,
    maxMicroUsd: Math.round(config.FETCH_MAX_TURN_USD * 1_000_000),
    maxWallMs: Math.round(config.FETCH_MAX_TURN_MINUTES * 60_000),
    parallelTools: 4,
    maxHistoryEvents: config.FETCH_MAX_HISTORY_EVENTS,
  },
  waits: { remindAfterMs: config.FETCH_QUESTION_REMIND_HOURS * HOUR_MS, expireAfterMs: config.FETCH_QUESTION_EXPIRE_HOURS * HOUR_MS },
});
