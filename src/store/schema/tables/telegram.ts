import type { ColumnType, Generated } from 'kysely';
import type { Created, Json } from '../columns.ts';

/** Row types of the Telegram channel. Ids of users, chats and messages are Telegram's; they have up to 52 bits. */

/** The bot whose token is set, as Telegram describes it. */
interface TgBotTable {
  id: number;
  username: string;
  /** it gets every message of a group, not only those that name it */
  reads_groups: Generated<boolean>;
  /** why it does not receive now, in a sentence for people; null when it does */
  problem: string | null;
  /** the one gateway that may poll, and until when without a renewal */
  lease_holder: ColumnType<string | null, string | null | undefined, string | null>;
  lease_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  updated_at: ColumnType<Date, Date | undefined, Date>;
}
/** Somebody who may write to the bot. */
interface TgPersonTable {
  user_id: number;
  role: 'owner' | 'trusted';
  name: string;
  paired_at: Created;
}
/** A code that makes whoever sends it first a person with this role. */
interface TgCodeTable {
  /** SHA-256 of the code, hex */
  hash: string;
  role: 'owner' | 'trusted';
  expires_at: Date;
}
/** Every update that was received. Never deleted before it is handled. */
export interface TgInboxTable {
  seq: Generated<number>;
  bot_id: number;
  /** what happened, built from ids of the content: ids of updates fall, and one event can have several */
  key: string;
  /** address of the chat: Telegram's id, and behind a slash the topic */
  chat: string;
  user_id: number | null;
  kind: 'message' | 'edit' | 'press' | 'member';
  /** the message, the callback query or the change of our membership; empty once it was handled and became nothing */
  content: Json<object>;
  received_at: Created;
  /** not handled before this */
  not_before: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** how often handling it failed */
  attempts: Generated<number>;
  handled_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  verdict: ColumnType<string | null, string | null | undefined, string | null>;
  /** the inbox row that it became */
  inbox_id: ColumnType<string | null, string | null | undefined, string | null>;
}
/** One message to be sent; a long reply has several. */
export interface TgSendTable {
  outbox_id: string;
  part: number;
  /** address of the chat */
  chat: string;
  /** what is sent, as the channel made it */
  content: Json<object>;
  /**
   * `sending`: an attempt began, and its outcome is not stored. `unknown`: nobody can tell whether it arrived, so it is
   * never sent again
   */
  state: 'queued' | 'sending' | 'sent' | 'failed' | 'unknown';
  attempts: Generated<number>;
  error: ColumnType<string | null, string | null | undefined, string | null>;
  /** Telegram's id, once it is known */
  message_id: ColumnType<number | null, number | null | undefined, number | null>;
  /** the question that it asks */
  question_id: string | null;
  created_at: Created;
  sent_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
}

export interface TelegramDatabase {
  tg_bots: TgBotTable;
  tg_people: TgPersonTable;
  tg_codes: TgCodeTable;
  tg_inbox: TgInboxTable;
  tg_sends: TgSendTable;
}
