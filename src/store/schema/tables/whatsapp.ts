import type { ColumnType, Generated } from 'kysely';
import type { Created } from '../columns.ts';

/**
 * Row types of the WhatsApp channel; the migrations make the tables. `account` is `default` until one instance holds
 * several.
 */

/** `GET /api/status` shows these words (contracts/fetch-api.md). */
export type WhatsAppState = 'initializing' | 'qr_pending' | 'authenticated' | 'disconnected' | 'error';

export interface WaAccountTable {
  account: string;
  /**
   * what the person wants: `off` no socket, `on` connected (pairing first when there are no credentials), `out` logged
   * out
   */
  wanted: 'off' | 'on' | 'out';
  /** grows with every request (start, restart, logout, pair): the gateway acts once for each */
  request: Generated<number>;
  /** digits to pair with by code instead of QR, null for QR */
  pair_phone: string | null;
  state: WhatsAppState;
  /** what the phone scans, or null; removed when it is used or outdated */
  qr: string | null;
  pairing_code: string | null;
  last_error: string | null;
  last_code: number | null;
  /** who must do something: pairing, person, lease, upgrade */
  needs: string | null;
  /** no connection before this (a temporary ban) */
  blocked_until: Date | null;
  /** own identity once paired */
  jid: string | null;
  lid: string | null;
  name: string | null;
  number_mode: 'shared' | 'dedicated' | null;
  /** accepted WhatsApp version after a 405, `2.3000.n` */
  version: string | null;
  /** the one gateway that may hold the socket, and until when without a renewal */
  lease_holder: string | null;
  lease_until: Date | null;
  /** the phone itself was last seen acting: unused for 14 days, WhatsApp logs linked devices out */
  phone_seen_at: Date | null;
  connected_at: Date | null;
  /** WhatsApp restricted what may be sent: replies wait until then */
  sends_paused_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  sends_paused_why: ColumnType<string | null, string | null | undefined, string | null>;
  updated_at: ColumnType<Date, Date | undefined, Date>;
  normalized_count: Generated<number>;
  chunked_count: Generated<number>;
  fallback_split_count: Generated<number>;
}
/** Credentials, encrypted: they are the account. */
interface WaCredsTable {
  account: string;
  data: Buffer;
  /** grows with every save: an older one never replaces a newer one */
  rev: Generated<number>;
  updated_at: ColumnType<Date, Date | undefined, Date>;
}
/** The Signal key store, one row a key, values encrypted. */
interface WaKeyTable {
  account: string;
  type: string;
  id: string;
  data: Buffer;
}
/**
 * Every message that was decrypted, written in the transaction of its ratchet step. Never deleted before it is handled.
 */
export interface WaInboxTable {
  seq: Generated<number>;
  account: string;
  /** these five columns identify a message; a device suffix is never part of them */
  chat: string;
  participant: string;
  from_me: boolean;
  message_id: string;
  /** proto.Message bytes, unpadded; null for a stub whose content never came */
  content: Buffer | null;
  /**
   * attributes of the stanza (t, notify, sender_pn, sender_lid, participant_pn, recipient, addressing_mode, offline,
   * edit)
   */
  attrs: ColumnType<Record<string, string>, string, string>;
  received_at: Created;
  /**
   * not handled before this: a stub that waits for its content, an author over the rate limit, a failure that is
   * retried
   */
  not_before: Date | null;
  /** how often handling it failed */
  attempts: Generated<number>;
  handled_at: Date | null;
  /**
   * how it was handled: turn, steer, answer, stop, reply, stranger, not_addressed, echo, owner_typed, old, duplicate,
   * empty, ...
   */
  verdict: string | null;
  /** the inbox row that it became */
  inbox_id: string | null;
  /** when its author was shown that it was read */
  read_sent_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
}
/** People: LID and phone number of one person are in one row. */
export interface WaContactTable {
  id: Generated<number>;
  account: string;
  lid: string | null;
  pn: string | null;
  name: string | null;
  /** address of the first chat of this person; it stays when another form of the address appears */
  chat_address: string;
  /** the form that the last message came from, which is the form to reply to */
  reply_jid: string;
}
/** One stanza to be sent; a long reply has several. */
export interface WaSendTable {
  /** `3EB0` and 18 hex digits, derived from outbox id and part: the same on every attempt */
  message_id: string;
  account: string;
  outbox_id: string;
  part: number;
  jid: string;
  /** proto.Message bytes as relayed: a resend uploads no media again, and `getMessage` answers retries from it */
  content: Buffer;
  state: 'queued' | 'sent' | 'delivered' | 'read' | 'failed';
  attempts: Generated<number>;
  error: string | null;
  created_at: Created;
  sent_at: Date | null;
  delivered_at: Date | null;
  read_at: Date | null;
  /** the question that it asks, so that a reaction, a quote or a vote finds it */
  question_id: string | null;
  /** the message whose text this stanza replaces */
  edits: string | null;
}
/** A message with an uploaded file, while other messages of its outbox row are not made yet. */
interface WaUploadTable {
  outbox_id: string;
  /** identifies the file at another attempt */
  file: string;
  /** proto.Message bytes, with the key of the uploaded file */
  content: Buffer;
}
/** A chat to which WhatsApp does not let us write for a while. */
interface WaChatPauseTable {
  account: string;
  jid: string;
  until: Date;
  why: string;
  /** the `error` of the refused message's ack */
  code: string;
}
/** After how long the messages of a chat disappear, as its people have chosen. */
interface WaTimerTable {
  account: string;
  /** of the chat */
  address: string;
  /** 0: never */
  seconds: number;
  since: Date;
}
/** Members of a group. They are asked for at most once an hour, because WhatsApp refuses frequent queries. */
interface WaGroupTable {
  account: string;
  jid: string;
  metadata: ColumnType<GroupRecord, string, string>;
  fetched_at: Date;
}
/** The part of a group's metadata that sending needs. */
export interface GroupRecord {
  id: string;
  subject: string;
  addressingMode?: 'pn' | 'lid';
  /** seconds until messages disappear */
  ephemeralDuration?: number;
  participants: Array<{ id: string; phoneNumber?: string; lid?: string }>;
}

/** The person whom the number of somebody who may write belongs to. */
interface WaNumberHolderTable {
  account: string;
  pn: string;
  lid: string;
  /** somebody else was seen with the number, so it says nothing without a LID */
  disputed: Generated<boolean>;
}

/** A number that the owner trusts besides those of the setting, as digits. */
interface WaTrustedTable {
  phone: string;
  trusted_at: Created;
}

export interface WhatsAppDatabase {
  wa_accounts: WaAccountTable;
  wa_creds: WaCredsTable;
  wa_keys: WaKeyTable;
  wa_inbox: WaInboxTable;
  wa_contacts: WaContactTable;
  wa_sends: WaSendTable;
  wa_groups: WaGroupTable;
  wa_uploads: WaUploadTable;
  wa_chat_pauses: WaChatPauseTable;
  wa_timers: WaTimerTable;
  wa_trusted: WaTrustedTable;
  wa_number_holders: WaNumberHolderTable;
}
