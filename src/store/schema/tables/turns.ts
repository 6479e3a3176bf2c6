import type { ColumnType, Generated } from 'kysely';
import type { Danger, Effect, NamedCall, ThinkResult } from '../../../contracts/conversation.ts';
import type { DecidedBy, Decision } from '../../../contracts/decision.ts';
import type { ModelFacts, StepState } from '../../../contracts/model.ts';
import type { TurnStatus, TurnUsage } from '../../../contracts/records.ts';
import type { CallTaint, Sink, Source } from '../../../contracts/taint.ts';
import type { Judged } from '../../../domain/consent/judge.ts';
import type { KindInProject } from '../../../domain/consent/kinds.ts';
import type { Verdict } from '../../../domain/consent/policy.ts';
import type { Created, Json, NullableJson } from '../columns.ts';

/** Row types of turns: messages, calls, questions and their cost. */

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
  /** the tool call that it consists of, where a program named it */
  call: NullableJson<NamedCall>;
  /** hashes of the extensions that it works with; null before its first step, and when there are none */
  extensions: NullableJson<string[]>;
  /** the person was told that a restart delayed this turn */
  delay_told: Generated<boolean>;
  /** it only sums up what was said before */
  compaction: Generated<boolean>;
  /** the run of a schedule that began it */
  run_id: ColumnType<string | null, string | null | undefined, string | null>;
  created_at: Created;
  started_at: Date | null;
  ended_at: Date | null;
}

export interface StepTable {
  key: string;
  turn_id: string;
  /** 0: an answer that broke off */
  step: number;
  model: string;
  result: Json<ThinkResult>;
  input_tokens: number;
  output_tokens: number;
  micro_usd: number;
  /** the part of the input that came from the cache of the endpoint */
  cached_tokens: Generated<number>;
  /** the part of the output that was thoughts */
  reasoning_tokens: Generated<number>;
  /** the endpoint did not say all of the tokens, so they are estimated from characters */
  estimated: Generated<boolean>;
  created_at: Created;
}

/** Stored with a call that a rule of the owner may cover. */
export interface KindOfCall extends KindInProject {
  judged?: Judged;
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
  /** policy's verdict when the model made the call; null in older rows */
  policy: Verdict | null;
  state: 'pending' | 'running' | 'done';
  ok: boolean | null;
  output: string | null;
  metadata: NullableJson<Record<string, unknown>>;
  /** sources of the output; null until there is one, and in older rows */
  sources: NullableJson<Source[]>;
  /** only for a call with a sink after text of others was read */
  taint: NullableJson<CallTaint>;
  /** its kind in its project, and what a judge said of it; null where it has no kind, and in older rows */
  kind: NullableJson<KindOfCall>;
  /** in a copied thread: the id of the first one, which texts still name */
  copied_from: ColumnType<string | null, string | null | undefined, never>;
  started_at: Date | null;
  ended_at: Date | null;
}

/** What the model said and was told, append-only; the context is a view of it. Tool results are in `calls`. */
interface TranscriptTable {
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
  /** sources of foreign text in the content */
  sources: ColumnType<Source[], string | undefined, string>;
  /** the part of the content that the person wrote; null: all of it, when it has no sources */
  words: string | null;
  tokens: number;
  /**
   * what the provider wants back with this message, exactly as it came; null for a message that the model did not write
   */
  step_state: NullableJson<StepState>;
  /** in a copied thread: the id of the first one, which texts still name */
  copied_from: ColumnType<string | null, string | null | undefined, never>;
  created_at: Created;
}

interface SummaryTable {
  id: string;
  thread_id: string;
  /** everything up to and including this `transcript.ord` is summed up */
  upto: number;
  /** empty: a new conversation began here */
  body: string;
  /** sources of the summary; null in older rows */
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
  /** the pull request that it is about, when that asks */
  shipment_id: ColumnType<string | null, string | null | undefined, string | null>;
  /** `plan`: a yes starts the work, a no ends the task, other words change the plan */
  kind: 'question' | 'approval' | 'plan';
  prompt: string;
  options: Json<string[]>;
  state: 'open' | 'answered' | 'expired' | 'cancelled';
  decision: Decision | null;
  answer: string | null;
  /** its number, when others of its thread are open */
  number: Generated<number>;
  /** what a person decides by: the whole command or difference */
  evidence: string | null;
  /** characters of the evidence that were shown */
  shown: Generated<number>;
  /** the decision holds for everything that follows in its thread */
  remember: Generated<boolean>;
  asked_at: Created;
  /** when the channel showed it; an earlier word does not answer it */
  delivered_at: Date | null;
  decided_at: Date | null;
  /** null while it is open, and when nobody decided (it expired) */
  decided_by: NullableJson<DecidedBy>;
  /** what a yes allows beyond a budget; null for every other question */
  budget: NullableJson<BudgetAsked>;
}

/** A yes allows so much more of one budget. Money in millionths of a US dollar. */
export interface BudgetAsked {
  scope: string;
  period: string;
  tokens: number;
  microUsd: number;
  /** the conversation that waits, where it is another than that of the chat which is asked */
  workflowId?: string;
}

/** What a person has allowed beyond a budget. */
interface BudgetGrantTable {
  question_id: string;
  scope: string;
  period: string;
  tokens: number;
  micro_usd: number;
  given_at: Created;
}

/** What the runs of a schedule spent on a day: turns of automations, and coding tasks. */
interface ScheduleSpendingTable {
  cron_id: string;
  day: string;
  kind: 'turns' | 'tasks';
  /** the chat whose budgets count it too; null where it is counted there already */
  account: string | null;
  tokens: number;
  micro_usd: number;
  unpriced: Generated<number>;
}

/** What a chat spent on a day of the owner's time zone: the sum of its steps, so that a budget is checked without adding them up. */
interface SpendingTable {
  chat_id: string;
  day: string;
  tokens: number;
  micro_usd: number;
  /** the part that counts at the highest known price */
  unpriced: Generated<number>;
}

/** A sink that a person has permanently allowed for a chat, even after text of others was read. */
/** Answers about a kind of action in a project of a chat, and whether the owner allows it for good. */
interface ActionKindTable {
  chat_id: string;
  host: string;
  workspace: string;
  key: string;
  /** for people */
  label: string;
  yes: Generated<number>;
  no: Generated<number>;
  /** yes answers of the owner since the last no */
  in_a_row: Generated<number>;
  /** null: it asks */
  allowed_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** the approval that gave it */
  question_id: ColumnType<string | null, string | null | undefined, string | null>;
}

interface SinkGrantTable {
  chat_id: string;
  sink: Sink;
  /** the approval that gave it */
  question_id: string | null;
  given_at: Created;
}

/** What a turn waits for at its model. */
interface ModelWaitTable {
  turn_id: string;
  kind: 'limit' | 'silence';
  what: string;
  until: Date;
  /** number of messages about it so far, and the end that the last one named */
  told: Generated<number>;
  told_until: Date | null;
}

/** What was learned of a model of an endpoint. */
interface ModelFactsTable {
  /** without credentials */
  base_url: string;
  model: string;
  facts: Json<ModelFacts>;
  learned_at: ColumnType<Date, Date | undefined, Date>;
}

export interface TurnDatabase {
  turns: TurnTable;
  steps: StepTable;
  calls: CallTable;
  transcript: TranscriptTable;
  summaries: SummaryTable;
  questions: QuestionTable;
  spending: SpendingTable;
  budget_grants: BudgetGrantTable;
  schedule_spending: ScheduleSpendingTable;
  sink_grants: SinkGrantTable;
  action_kinds: ActionKindTable;
  model_waits: ModelWaitTable;
  model_facts: ModelFactsTable;
}
