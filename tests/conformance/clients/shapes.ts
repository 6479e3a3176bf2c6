import { z } from 'zod';

/**
 * What clients of the runtime API read of it, field by field: an answer without one of them makes a client fail. Fields
 * that no client reads may be added, so every object is loose. Times are read by a date parser that takes both forms of
 * RFC 3339.
 */

const time = () =>
  z.string().refine((text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)), 'not a time');
const count = () => z.int().nonnegative();

export const threadShape = z.looseObject({
  id: z.string(),
  created_at: time(),
  updated_at: time(),
  model: z.string(),
  workspace: z.string(),
  mode: z.string(),
  allow_shell: z.boolean(),
  trust_mode: z.boolean(),
  auto_approve: z.boolean(),
  archived: z.boolean(),
  latest_turn_id: z.string().optional(),
  title: z.string().optional(),
});

export const turnShape = z.looseObject({
  id: z.string(),
  thread_id: z.string(),
  // no client knows another one: a turn with it would spin for ever
  status: z.enum(['in_progress', 'completed', 'failed', 'interrupted']),
  input_summary: z.string(),
  created_at: time(),
  started_at: time().optional(),
  ended_at: time().optional(),
  duration_ms: count().optional(),
  usage: z.looseObject({ input_tokens: count(), output_tokens: count() }).optional(),
  error: z.string().optional(),
  item_ids: z.array(z.string()),
  steer_count: count(),
});

export const itemShape = z.looseObject({
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
  started_at: time().optional(),
  ended_at: time().optional(),
});

export const approvalShape = z.looseObject({
  id: z.string(),
  approval_id: z.string(),
  tool_name: z.string(),
  description: z.string(),
});

const option = z.looseObject({ label: z.string(), description: z.string() });
const question = z.looseObject({ id: z.string(), header: z.string(), question: z.string(), options: z.array(option) });
export const inputShape = z.looseObject({
  id: z.string(),
  request: z.looseObject({ questions: z.array(question).min(1).max(3) }),
});

export const detailShape = z.looseObject({
  thread: threadShape,
  turns: z.array(turnShape),
  items: z.array(itemShape),
  latest_seq: count(),
  pending_approvals: z.array(approvalShape),
  pending_user_inputs: z.array(inputShape),
});

/** All keys are always there; those of git may be null. */
export const summaryShape = z.looseObject({
  id: z.string(),
  title: z.string().min(1),
  preview: z.string(),
  model: z.string(),
  mode: z.string(),
  workspace: z.string(),
  branch: z.string().nullable(),
  head: z.string().nullable(),
  dirty: z.boolean(),
  archived: z.boolean(),
  updated_at: time(),
  latest_turn_id: z.string().nullable(),
  latest_turn_status: z.enum(['inprogress', 'completed', 'failed', 'interrupted']).nullable(),
});

export const startedTurn = z.looseObject({ thread: threadShape, turn: turnShape });
export const refusal = z.looseObject({ error: z.looseObject({ message: z.string(), status: z.int() }) });

const item = z.looseObject({ item: itemShape });

/** The payload of every event that these clients know. */
export const payloads = {
  'thread.started': z.looseObject({ thread: threadShape }),
  'thread.updated': z.looseObject({ thread: threadShape }),
  'thread.forked': z.looseObject({ thread: threadShape, source_thread_id: z.string() }),
  'turn.started': z.looseObject({ turn: turnShape }),
  'turn.lifecycle': z.looseObject({ status: z.literal('in_progress') }),
  'turn.steered': z.looseObject({ thread_id: z.string(), turn_id: z.string(), input: z.string() }),
  'turn.interrupt_requested': z.looseObject({ thread_id: z.string(), turn_id: z.string() }),
  'turn.completed': z.looseObject({ turn: turnShape }),
  'item.started': z.looseObject({
    item: itemShape,
    tool: z.looseObject({ id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
  }),
  'item.delta': z.looseObject({ delta: z.string().min(1), kind: z.string() }),
  'item.completed': item,
  'item.failed': item,
  'item.interrupted': item,
  'approval.required': approvalShape,
  'approval.decided': z.looseObject({
    approval_id: z.string(),
    decision: z.enum(['allow', 'deny']),
    remember: z.boolean(),
  }),
  'user_input.required': inputShape,
  'user_input.answered': z.looseObject({ input_id: z.string() }),
  'user_input.canceled': z.looseObject({ id: z.string() }),
  'sandbox.denied': z.looseObject({ tool_id: z.string(), tool_name: z.string(), reason: z.string() }),
  'coherence.state': z.looseObject({ state: z.string() }),
};
export type EventName = keyof typeof payloads;
export type Payload<Name extends EventName> = z.output<(typeof payloads)[Name]>;

export type Thread = z.output<typeof threadShape>;
export type Turn = z.output<typeof turnShape>;
export type Item = z.output<typeof itemShape>;
export type Approval = z.output<typeof approvalShape>;
export type Input = z.output<typeof inputShape>;
export type Detail = z.output<typeof detailShape>;
export type Summary = z.output<typeof summaryShape>;
