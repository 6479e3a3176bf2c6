import type { ColumnType, Generated } from 'kysely';
import type { CallVerdict, Danger, Effect, ThinkResult } from '../../contracts/conversation.ts';
import type { DecidedBy, Decision, Identity } from '../../contracts/decision.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { ItemKind, ItemStatus, TurnStatus, TurnUsage } from '../../contracts/records.ts';
import type { RoutineStep } from '../../contracts/routine.ts';
import type { CallTaint, Sink, Source } from '../../contracts/taint.ts';
import type { Verdict } from '../../domain/consent/policy.ts';
import type { KennelDatabase } from '../kennel/tables.ts';
import type { WhatsAppDatabase } from '../whatsapp/tables.ts';

/** Row types of every table; migrations.ts makes the tables themselves. */

type Created = ColumnType<Date, Date | undefined, never>;
/** jsonb: written as a string by `json()`, read parsed */
type Json<T> = ColumnType<T, string, string>;
type NullableJson<T> = ColumnType<T | null, string | null | undefined, string | null>;

export interface ChatTable {
  id: string;
  channel: Channel;
  /** where to send to; a WhatsApp JID, a console name, a thread id. Never leaves the store except to the channel. */
  address: string;
  workflow_id: string;
  autonomy: 'supervised' | 'cautious' | 'autonomous';
  /** the active workspace and the host that it is on */
  workspace: string | null;
  workspace_host: string | null;
  created_at: Created;
  last_activity_at: ColumnType<Date, Date | undefined, Date>;
}
export interface ThreadTable {
  id: string;
  chat_id: string;
  model: string;
  workspace: string;
  mode: string;
  allow_shell: boolean;
  trust_mode: boolean;
  auto_approve: boolean;
  archived: boolean;
  system_prompt: string | null;
  task_id: string | null;
  title: string | null;
  latest_turn_id: string | null;
  created_at: Created;
  updated_at: ColumnType<Date, Date | undefined, Date>;
}
export interface TurnTable {
  id: string;
  thread_id: string;
  status: TurnStatus;
  input_summary: string;
  usage: NullableJson<TurnUsage>;
  micro_usd: Generated<number>;
  error: string | null;
  steer_count: Generated<number>;
  /** per-turn overrides of the thread's settings */
  auto_approve: boolean | null;
  model: string | null;
  mode: string | null;
  allow_shell: boolean | null;
  /** the person was told that a restart delayed this turn */
  delay_told: Generated<boolean>;
  created_at: Created;
  started_at: Date | null;
  ended_at: Date | null;
}
export interface ItemTable {
  ord: Generated<number>;
  id: string;
  turn_id: string;
  thread_id: string;
  kind: ItemKind;
  status: ItemStatus;
  summary: string;
  detail: string | null;
  metadata: NullableJson<Record<string, unknown>>;
  started_at: Date | null;
  ended_at: Date | null;
}
export interface EventTable {
  seq: Generated<number>;
  thread_id: string;
  turn_id: string | null;
  item_id: string | null;
  event: string;
  payload: Json<Record<string, unknown>>;
  at: Created;
}
export interface InboxTable {
  id: string;
  chat_id: string;
  thread_id: string;
  turn_id: string | null;
  /** the channel's own message id: the key of deduplication, for ever */
  channel_message_id: string;
  /** digest of what was asked under a client's key; null where there was none, and in rows from before */
  fingerprint: ColumnType<string | null, string | null | undefined, never>;
  /** the arrival that the workflow is signalled with */
  arrival: Json<unknown>;
  body: string;
  /** null in rows from before identities were recorded */
  written_by: NullableJson<Identity[]>;
  received_at: Created;
  signalled_at: Date | null;
  /** a model step has read it */
  consumed_at: Date | null;
  /** how often its signal was lost with a Temporal server */
  resignalled: Generated<number>;
}
export interface StepTable {
  key: string;
  turn_id: string;
  step: number;
  model: string;
  result: Json<ThinkResult>;
  input_tokens: number;
  output_tokens: number;
  micro_usd: number;
  created_at: Created;
}
/** What a chat spent on a day (UTC): the sum of its steps, so that a budget is checked without adding them up. */
export interface SpendingTable {
  chat_id: string;
  day: string;
  tokens: number;
  micro_usd: number;
  /** the part of it that counts at the dearest known price */
  unpriced: Generated<number>;
}
export interface CallTable {
  id: string;
  /** the provider's own id of the call, unique only within one model answer */
  provider_id: string;
  turn_id: string;
  thread_id: string;
  item_id: string;
  step: number;
  position: number;
  name: string;
  args: Json<Record<string, unknown>>;
  danger: Danger;
  effect: Effect;
  /** what policy said when the model made the call; null in rows from before this was recorded */
  policy: Verdict | null;
  state: 'pending' | 'running' | 'done';
  ok: boolean | null;
  output: string | null;
  metadata: NullableJson<Record<string, unknown>>;
  /** whose text stands in the output; null until there is one, and in rows from before this was noted */
  sources: NullableJson<Source[]>;
  /** of a call with a sink, made after text of others was read */
  taint: NullableJson<CallTaint>;
  started_at: Date | null;
  ended_at: Date | null;
}
/** What the model said and was told, append-only; context is a view of it. Tool results live in `calls`. */
export interface TranscriptTable {
  ord: Generated<number>;
  id: string;
  thread_id: string;
  turn_id: string;
  role: 'user' | 'assistant';
  content: string;
  /** ids of calls that this assistant message made, in order */
  call_ids: Json<string[]>;
  /** pictures, documents and recordings that came with a message */
  attachment_ids: ColumnType<string[], string | undefined, string>;
  /** others whose text stands in the content */
  sources: ColumnType<Source[], string | undefined, string>;
  /** the part of the content that the person wrote; null: all of it, where it has no sources */
  words: string | null;
  tokens: number;
  created_at: Created;
}
export interface SummaryTable {
  id: string;
  thread_id: string;
  /** everything up to and including this `transcript.ord` is summed up */
  upto: number;
  /** empty: the person began anew here */
  body: string;
  /** others whose text it was made of; null where that was not noted yet */
  sources: NullableJson<Source[]>;
  created_at: Created;
}
export interface QuestionTable {
  id: string;
  chat_id: string;
  thread_id: string;
  turn_id: string;
  /** the call that asks; null when a coding task does */
  call_id: string | null;
  task_id: string | null;
  kind: 'question' | 'approval';
  prompt: string;
  options: Json<string[]>;
  state: 'open' | 'answered' | 'expired' | 'cancelled';
  decision: Decision | null;
  answer: string | null;
  /** by which it is named while others of its thread are open */
  number: Generated<number>;
  /** what a person decides by: the command or the difference, whole */
  evidence: string | null;
  /** characters of the evidence that were shown */
  shown: Generated<number>;
  /** the decision holds for everything that follows in its thread */
  remember: Generated<boolean>;
  asked_at: Created;
  /** when the channel had shown it: a word that was written before is no answer to it */
  delivered_at: Date | null;
  decided_at: Date | null;
  /** null while it is open, and where nobody decided (it expired) */
  decided_by: NullableJson<DecidedBy>;
}
export interface OutboxTable {
  ord: Generated<number>;
  id: string;
  chat_id: string;
  thread_id: string | null;
  turn_id: string | null;
  kind: 'answer' | 'question' | 'notice' | 'progress' | 'result';
  body: string;
  /** `dropped`: a question that was decided before it was sent */
  state: Generated<'queued' | 'sent' | 'failed' | 'dropped'>;
  attempts: Generated<number>;
  error: string | null;
  created_at: Created;
  sent_at: Date | null;
}
/** What came with a message besides its text, kept whole. */
export interface AttachmentTable {
  id: string;
  thread_id: string;
  kind: 'image' | 'document' | 'audio' | 'video';
  mime: string;
  name: string | null;
  /** bytes */
  size: number;
  sha256: string;
  data: Buffer;
  /** a picture as the model is shown it: JPEG, small enough to be part of every request; null for everything else */
  preview: Buffer | null;
  /** transcript of a recording, text of a document */
  text: string | null;
  created_at: Created;
}
/** A workspace that the owner lets somebody else use. `person`: the digits of a phone number. */
export interface WorkspaceShareTable {
  workspace: string;
  person: string;
  shared_at: Created;
}
export interface RoutineTable {
  id: string;
  chat_id: string;
  name: string;
  description: string;
  workspace: string | null;
  steps: Json<RoutineStep[]>;
  /** others whose text the turn had read that made it, where no person was asked about it */
  sources: ColumnType<Source[], string | undefined, string>;
  created_at: Created;
  updated_at: ColumnType<Date, Date | undefined, Date>;
}
/** A sink that a person has allowed for a chat, also after text of others was read. */
export interface SinkGrantTable {
  chat_id: string;
  sink: Sink;
  /** the approval by which it was given */
  question_id: string | null;
  given_at: Created;
}
export interface RoutineRunTable {
  id: string;
  routine_id: string;
  routine_name: string;
  chat_id: string;
  cron_id: string | null;
  workflow_id: string;
  scheduled_for: Date | null;
  status: 'running' | 'completed' | 'failed';
  summary: string | null;
  /** one entry a step: name, tool, ok, output */
  results: Json<Array<{ name: string; tool: string; ok: boolean; output: string }>>;
  /** the last step that must not run twice and was begun, counted from 1; 0 for none */
  once_begun: Generated<number>;
  /** what is told of firings that did not run by themselves */
  note: Generated<string | null>;
  started_at: Created;
  ended_at: Date | null;
}
export interface CronTable {
  id: string;
  routine_id: string;
  chat_id: string;
  name: string;
  schedule: string;
  time_zone: string;
  enabled: Generated<boolean>;
  created_at: Created;
  /** firings before this are not missed: it was off, or not there */
  enabled_since: Generated<Date>;
  /** the firing that ran last, by its time on the schedule */
  last_fired: Generated<Date | null>;
}

/** A thread that a client asked for under a key. */
export interface RequestKeyTable {
  key: string;
  fingerprint: string;
  thread_id: string;
  created_at: Created;
}

/** What a turn waits for at its model. */
export interface ModelWaitTable {
  turn_id: string;
  kind: 'limit' | 'silence';
  what: string;
  until: Date;
  /** messages about it so far, and the end that the last one named */
  told: Generated<number>;
  told_until: Date | null;
}

export interface Database extends WhatsAppDatabase, KennelDatabase {
  chats: ChatTable;
  threads: ThreadTable;
  turns: TurnTable;
  items: ItemTable;
  events: EventTable;
  inbox: InboxTable;
  steps: StepTable;
  spending: SpendingTable;
  calls: CallTable;
  transcript: TranscriptTable;
  summaries: SummaryTable;
  questions: QuestionTable;
  outbox: OutboxTable;
  routines: RoutineTable;
  routine_runs: RoutineRunTable;
  crons: CronTable;
  attachments: AttachmentTable;
  workspace_shares: WorkspaceShareTable;
  request_keys: RequestKeyTable;
  sink_grants: SinkGrantTable;
  model_waits: ModelWaitTable;
}

export type { CallVerdict };
