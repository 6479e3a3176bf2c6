import type { ColumnType, Generated } from 'kysely';
import type { Identity } from '../../../contracts/decision.ts';
import type { Channel } from '../../../contracts/ids.ts';
import type { ItemKind, ItemStatus } from '../../../contracts/records.ts';
import type { GroupNotes, GroupRule } from '../../../domain/chat/groups.ts';
import type { Preferences, Unasked } from '../../../domain/chat/preferences.ts';
import type { Family } from '../../../domain/chat/tool-families.ts';
import type { Created, Json, NullableJson } from '../columns.ts';

/** Row types of chats: the partners, what comes in, what goes out, and what screens show. */

interface ChatTable {
  id: string;
  channel: Channel;
  /** where to send to: a WhatsApp JID, a console name, a thread id. It leaves the store only to the channel. */
  address: string;
  workflow_id: string;
  autonomy: 'supervised' | 'cautious' | 'autonomous';
  /** where `autonomy` is cautious: kinds of actions that the owner allowed for a project are judged, not asked about */
  judged: Generated<boolean>;
  /** the model that judges; null: rules alone do */
  judge_model: ColumnType<string | null, string | null | undefined, string | null>;
  /** the active workspace and the host that it is on */
  workspace: string | null;
  workspace_host: string | null;
  preferences: ColumnType<Preferences, string | undefined, string>;
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
  /** whether coding tasks begin with a plan; null leaves it to the model and to the size of the goal */
  plan_first: ColumnType<boolean | null, boolean | null | undefined, boolean | null>;
  latest_turn_id: string | null;
  /** families of tools besides the core, in the order in which they were opened; null: none */
  families: ColumnType<Family[] | null, string | null | undefined, string | null>;
  /** deleted as a session, and nobody has used it since */
  deleted_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** the thread that it was copied from */
  forked_from: ColumnType<string | null, string | null | undefined, never>;
  created_at: Created;
  updated_at: ColumnType<Date, Date | undefined, Date>;
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

interface EventTable {
  seq: Generated<number>;
  thread_id: string;
  turn_id: string | null;
  item_id: string | null;
  event: string;
  payload: Json<Record<string, unknown>>;
  at: Created;
}

interface InboxTable {
  id: string;
  chat_id: string;
  thread_id: string;
  turn_id: string | null;
  /** the channel's own message id, by which messages are deduplicated for ever */
  channel_message_id: string;
  /** digest of a request under a client's key; null without a key, and in older rows */
  fingerprint: ColumnType<string | null, string | null | undefined, never>;
  /** the arrival that the workflow gets as a signal */
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
  /** where its trace goes on, as `traceparent`; null where nothing is traced */
  trace_parent: ColumnType<string | null, string | null | undefined, never>;
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
  /** nobody asked for it, so the chat's preferences decide when it is sent, and whether */
  unasked: ColumnType<Unasked | null, Unasked | null | undefined, never>;
  /** it waits for the end of quiet hours */
  not_before: ColumnType<Date | null, never, Date | null>;
  created_at: Created;
  sent_at: Date | null;
}

/** A file that came with a message, stored whole. */
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
  /** the picture as the model sees it: JPEG, small enough for every request; null for everything else */
  preview: Buffer | null;
  /** transcript of a recording, text of a document */
  text: string | null;
  /** in a copied thread: the id of the first one, which texts still name */
  copied_from: ColumnType<string | null, string | null | undefined, never>;
  created_at: Created;
}

/** A thread that a client requested with a key. */
interface RequestKeyTable {
  key: string;
  fingerprint: string;
  thread_id: string;
  created_at: Created;
}

/** The messages of a session up to where they can no longer change. */
interface SessionCountTable {
  thread_id: string;
  /** where the conversation began, and up to which message was counted: `ord` of the transcript */
  begun: number;
  upto: number;
  messages: number;
}

/** A group that the account is or was in. A chat of a topic has the address of its group. */
export interface GroupTable {
  channel: Channel;
  /** without a topic */
  address: string;
  /** its chat, once it is registered */
  chat_id: ColumnType<string | null, string | null | undefined, string | null>;
  /** as its members call it: words of others */
  name: string;
  members: number | null;
  /** name of the workspace that is its folder */
  folder: ColumnType<string | null, string | null | undefined, string | null>;
  rule: ColumnType<GroupRule, string | undefined, string>;
  /** AGENTS.md or CLAUDE.md of its folder, as its host last saw it */
  notes: ColumnType<GroupNotes | null, never, string | null>;
  seen_at: Created;
  /** when the owner was told that the account was added */
  told_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** when the owner said that it is answered */
  registered_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** the owner has left, so nobody is answered until the owner says so again */
  paused_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** the account is no longer in it */
  left_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
}

/** What was said in a registered group and was not for us. */
interface GroupTalkTable {
  ord: Generated<number>;
  chat_id: string;
  /** the channel's own id of the message */
  key: string;
  author: string;
  /** the owner wrote it */
  owner: boolean;
  /** id of the author, as in identities */
  person: string | null;
  /** empty once it is part of the dialogue */
  body: string;
  said_at: Date;
  /** the message of the dialogue that it became a part of */
  message_id: ColumnType<string | null, never, string | null>;
}

export interface ChatDatabase {
  groups: GroupTable;
  group_talk: GroupTalkTable;
  chats: ChatTable;
  threads: ThreadTable;
  items: ItemTable;
  events: EventTable;
  inbox: InboxTable;
  outbox: OutboxTable;
  attachments: AttachmentTable;
  request_keys: RequestKeyTable;
  session_counts: SessionCountTable;
}
