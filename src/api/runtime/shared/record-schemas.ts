import { z } from 'zod';
import type { EventEnvelope, ItemRecord, ThreadRecord, TurnRecord, TurnUsage } from '../../../contracts/records.ts';

/**
 * Schemas of the records in `src/contracts/records.ts`, for the OpenAPI document and for tests that check answers
 * against it.
 */

/** Exactly the fields of a record. */
type Fields<Record> = { [Name in keyof Record]-?: z.ZodType<Record[Name]> };

/** RFC 3339. The pattern is left out: it is long and adds nothing. */
const time = () => z.iso.datetime().meta({ pattern: undefined });
const count = () => z.int().nonnegative();
const version2 = () => z.literal(2);

export const threadFields = {
  schema_version: version2(),
  id: z.string(),
  created_at: time(),
  updated_at: time(),
  model: z.string(),
  workspace: z.string(),
  mode: z.string(),
  allow_shell: z.boolean(),
  trust_mode: z.boolean(),
  auto_approve: z.boolean(),
  latest_turn_id: z.string().optional(),
  archived: z.boolean(),
  system_prompt: z.string().optional(),
  task_id: z.string().optional(),
  title: z.string().optional(),
  coherence_state: z.enum(['healthy', 'refreshing_context']),
} satisfies Fields<ThreadRecord>;

export const threadRecord = z.object(threadFields).meta({ id: 'ThreadRecord' });

const usage = z
  .object({
    input_tokens: count(),
    output_tokens: count(),
    prompt_cache_hit_tokens: count().optional(),
    prompt_cache_miss_tokens: count().optional(),
    reasoning_tokens: count().optional(),
  } satisfies Fields<TurnUsage>)
  .meta({ id: 'TurnUsage' });

export const turnRecord = z
  .object({
    schema_version: version2(),
    id: z.string(),
    thread_id: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed', 'interrupted', 'canceled']),
    input_summary: z.string(),
    created_at: time(),
    started_at: time().optional(),
    ended_at: time().optional(),
    duration_ms: z.number().nonnegative().optional(),
    usage: usage.optional(),
    error: z.string().optional(),
    item_ids: z.array(z.string()),
    steer_count: count(),
  } satisfies Fields<TurnRecord>)
  .meta({ id: 'TurnRecord' });

export const itemRecord = z
  .object({
    schema_version: version2(),
    id: z.string(),
    turn_id: z.string(),
    kind: z.enum([
      'user_message',
      'agent_message',
      'agent_reasoning',
      'tool_call',
      'file_change',
      'command_execution',
      'context_compaction',
      'status',
      'error',
    ]),
    status: z.enum(['in_progress', 'completed', 'failed', 'interrupted']),
    summary: z.string(),
    detail: z.string().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
    artifact_refs: z.array(z.string()),
    started_at: time().optional(),
    ended_at: time().optional(),
  } satisfies Fields<ItemRecord>)
  .meta({ id: 'ItemRecord' });

/** The data of one frame of an event stream. */
export const eventRecord = z
  .object({
    schema_version: z.literal(1),
    seq: count(),
    event: z.string(),
    kind: z.string(),
    thread_id: z.string(),
    turn_id: z.string().nullable(),
    item_id: z.string().nullable(),
    timestamp: time(),
    created_at: time(),
    payload: z.record(z.string(), z.unknown()),
    previous_seq: count().describe('Of the event before this one on this stream, or the cursor'),
  } satisfies Fields<EventEnvelope & { previous_seq: number }>)
  .meta({ id: 'Event' });
