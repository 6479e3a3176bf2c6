/**
 * Records as HTTP clients see them (the runtime API contract). Unset optional fields are omitted; times are RFC 3339
 * UTC.
 */

export type TurnStatus = 'queued' | 'in_progress' | 'completed' | 'failed' | 'interrupted' | 'canceled';
export type ItemStatus = 'in_progress' | 'completed' | 'failed' | 'interrupted';
export type ItemKind =
  | 'user_message'
  | 'agent_message'
  | 'agent_reasoning'
  | 'tool_call'
  | 'file_change'
  | 'command_execution'
  | 'context_compaction'
  | 'status'
  | 'error';

export interface ThreadRecord {
  schema_version: 2;
  id: string;
  created_at: string;
  updated_at: string;
  model: string;
  workspace: string;
  mode: string;
  allow_shell: boolean;
  trust_mode: boolean;
  auto_approve: boolean;
  latest_turn_id?: string;
  archived: boolean;
  system_prompt?: string;
  task_id?: string;
  title?: string;
  /** `refreshing_context` only in events, while a compaction runs */
  coherence_state: 'healthy' | 'refreshing_context';
}

export interface TurnUsage {
  input_tokens: number;
  output_tokens: number;
  prompt_cache_hit_tokens?: number;
  prompt_cache_miss_tokens?: number;
  reasoning_tokens?: number;
}

export interface TurnRecord {
  schema_version: 2;
  id: string;
  thread_id: string;
  status: TurnStatus;
  input_summary: string;
  created_at: string;
  started_at?: string;
  ended_at?: string;
  duration_ms?: number;
  usage?: TurnUsage;
  error?: string;
  item_ids: string[];
  steer_count: number;
}

export interface ItemRecord {
  schema_version: 2;
  id: string;
  turn_id: string;
  kind: ItemKind;
  status: ItemStatus;
  summary: string;
  detail?: string;
  metadata?: Record<string, unknown>;
  artifact_refs: string[];
  started_at?: string;
  ended_at?: string;
}

/** The SSE envelope. `seq` is one counter for the whole store; per-thread streams have gaps. */
export interface EventEnvelope {
  schema_version: 1;
  seq: number;
  event: string;
  kind: string;
  thread_id: string;
  turn_id: string | null;
  item_id: string | null;
  timestamp: string;
  created_at: string;
  payload: Record<string, unknown>;
}
