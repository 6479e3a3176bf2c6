import type { ColumnType } from 'kysely';
import type { DecidedBy } from '../../../contracts/decision.ts';
import type { NoticeKind } from '../../../contracts/owner-push.ts';
import type { Source } from '../../../contracts/taint.ts';
import type { Declaration, ExtensionKind } from '../../../domain/extensions/extension.ts';
import type { Created, Json, NullableJson } from '../columns.ts';

/**
 * One version of what the owner brought along, as a person is shown it. It never changes; only the decision about it
 * does.
 */
interface ExtensionVersionTable {
  hash: string;
  kind: ExtensionKind;
  name: string;
  declaration: Json<Declaration>;
  found_at: Created;
  /** null: nobody has decided yet */
  agreed: boolean | null;
  decided_at: Date | null;
  decided_by: NullableJson<DecidedBy>;
}

/** What is configured now. */
interface ExtensionTable {
  kind: ExtensionKind;
  name: string;
  /** null: nothing usable was found */
  hash: string | null;
  /** why it cannot be used now, or could not be looked at */
  problem: string | null;
  looked_at: ColumnType<Date, Date | undefined, Date>;
}

/** A login of the owner at an MCP server. */
export interface McpLoginTable {
  server: string;
  /** the address that it is for: no other gets its token */
  url: string;
  issuer: string;
  /** the tokens and the client that they belong to, encrypted */
  sealed: Buffer;
  /** null: its server does not say */
  expires_at: Date | null;
  renewable: boolean;
  /** why it cannot be used any more: the owner must log in again */
  refused: string | null;
  logged_in_at: ColumnType<Date, Date | undefined, Date>;
  renewed_at: ColumnType<Date, Date | undefined, Date>;
}

export interface ExtensionDatabase {
  mcp_logins: McpLoginTable;
  extension_versions: ExtensionVersionTable;
  extensions: ExtensionTable;
}

/** A browser with Web Push, or the topic of ntfy. */
interface PushDeviceTable {
  id: string;
  endpoint: string;
  /** of the browser: `p256dh` and `auth`; null for ntfy */
  keys: NullableJson<{ p256dh: string; auth: string }>;
  kinds: NoticeKind[];
  /** `22:00-07:00` */
  quiet: string | null;
  time_zone: string;
  /** where the page is, as this browser reaches it */
  origin: string | null;
  problem: string | null;
  created_at: Created;
}

/** One notice to one device. */
interface PushSendTable {
  /** `question/…`, `task/…`, `turn/…`, or `run/…/…` with the schedule and its run */
  key: string;
  device_id: string;
  kind: NoticeKind;
  thread_id: string | null;
  body: string;
  due_at: ColumnType<Date, Date | undefined, Date>;
  attempts: ColumnType<number, number | undefined, number>;
  sent_at: Date | null;
  /** it was taken back, or given up */
  closed_at: Date | null;
  created_at: Created;
}

export interface PushDatabase {
  push_devices: PushDeviceTable;
  push_sends: PushSendTable;
}

export interface MemoryTable {
  id: string;
  /** `owner` for the owner's own chats, the chat's id for every other chat */
  owner: string;
  body: string;
  /** what the turn had read that made it; a memory with sources is never in a prompt by itself */
  sources: Json<Source[]>;
  created_at: Created;
  words: ColumnType<string, never, never>;
}

/** A failed turn, task, run of a routine or message that the owner has seen. */
interface SeenFailureTable {
  id: string;
  seen_at: Created;
}

export interface MemoryDatabase {
  memories: MemoryTable;
  seen_failures: SeenFailureTable;
}
