import { counter, gauge, histogram } from './registry.ts';

/** Counters of the roles. Each process counts what it does itself, so these are summed over processes. */

const REQUEST_SECONDS = [0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const TOOL_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300];

export const turnsEnded = counter<'outcome'>(
  'fetch_turns_total',
  'Turns that ended: completed, interrupted or failed.',
);
export const stepsEnded = counter<'outcome'>(
  'fetch_steps_total',
  'Attempts of model steps: answered, or the kind of failure.',
);
export const toolCalls = counter<'tool' | 'outcome'>(
  'fetch_tool_calls_total',
  'Tool calls: ok, failed, retried or unknown. Tools of MCP servers and custom tools are "added".',
);
export const toolSeconds = histogram('fetch_tool_call_duration_seconds', 'How long tool calls took.', TOOL_SECONDS);

export const modelSeconds = histogram<'outcome'>(
  'fetch_model_request_duration_seconds',
  'Requests to the model until the last part of the answer: ok, the kind of failure, or cancelled.',
  REQUEST_SECONDS,
);
export const modelTokens = counter<'kind'>(
  'fetch_model_tokens_total',
  'Tokens of requests to the model: input, cached (a part of input) and output.',
);
export const modelUsd = counter(
  'fetch_model_cost_usd_total',
  'What requests to the model cost in US dollars. An unknown price counts as the highest known one.',
);

export const sends = counter<'channel' | 'outcome'>(
  'fetch_sends_total',
  'Attempts to send a message: sent, failed, held (quiet hours) or dropped.',
);
export const untranslated = counter<'language'>(
  'fetch_texts_untranslated_total',
  'Texts for a chat that were said in English, because its language has none.',
);
export const sseReaders = gauge('fetch_sse_readers', 'Open streams of events.');

export const databaseConnections = gauge<'state'>(
  'fetch_database_connections',
  'Connections of the pool of this process: used or idle.',
);
export const databaseWaiting = gauge('fetch_database_waiting', 'Queries of this process that wait for a connection.');
export const roleReady = gauge<'role'>(
  'fetch_role_ready',
  '1 when a role of this process works, 0 while it starts or waits.',
);
export const buildInfo = gauge<'version'>('fetch_build_info', 'Always 1; the label has the release.');

export const kennelSlots = gauge('fetch_kennel_slots', 'Coding tasks that this host may run at once.');
export const kennelSlotsUsed = gauge('fetch_kennel_slots_used', 'Containers of coding tasks that this host runs.');
