import type { Arrival } from '../../contracts/conversation.ts';
import type { Displayed, Identity } from '../../contracts/decision.ts';
import type { Told } from '../../domain/texts/say.ts';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import type { Tx } from '../../store/postgres/database.ts';
import type { Heard } from '../../store/turns/steps/transcript.ts';

/** The channel's own id of a message, or the key that an HTTP client gave its request. */
export type MessageId = string | RequestKey;

/** A message of a person. */
export interface InboundMessage {
  threadId: string;
  text: string;
  channelMessageId: MessageId;
  /** the text as the model reads it, with its author in a group; commands and answers are read without the author */
  shown?: string;
  /** whose words `shown` consists of */
  heard?: Heard;
  /** who wrote it: several where messages were joined, none over HTTP */
  writers?: readonly Identity[];
  /** when it was written, by the channel; unset when only the time of arrival is known */
  writtenAt?: Date;
  /** it answers exactly this question (a reaction, a vote, a quote); if the question is settled, the person is told */
  questionId?: string;
  /** it quotes a message that asks nothing, so a yes in it is about that message */
  elsewhere?: boolean;
  /** never a command or an answer, because it was joined from several messages */
  plain?: boolean;
  /**
   * what the sending screen had shown of the open questions; a channel that does not say so shows at once what is
   * stored
   */
  displayed?: readonly Displayed[];
  attachmentIds?: readonly string[];
  /** in a group: what role the writer has in the turn that asks for approval; elsewhere the writer may approve */
  approver?: Approver;
  also?: Also;
}

/** A message that is answered with `body`, without the model: it could not be read, or it was too much at once. */
export interface AnsweredMessage {
  threadId: string;
  said: string;
  /** a function says it in the language of the chat */
  body: string | Told;
  channelMessageId: string;
  also?: Also;
}

/** The result of a message: its meaning, its turn if it has one, and its row. */
export interface IntakeResult {
  kind: Arrival['kind'];
  turnId: string | null;
  inboxId: string;
}

/**
 * Runs in intake's transaction, also when the message was `known`. `inboxId` is the row that it became, now or earlier;
 * `kind` is what it meant.
 */
export type Also = (tx: Tx, inboxId: string, kind: Arrival['kind'], known: boolean) => Promise<void>;

/** Whether a writer is the owner, and whether the writer asked for the turn. Runs in intake's transaction. */
export type Approver = (tx: Tx, turnId: string) => Promise<{ owner: boolean; asked: boolean }>;
