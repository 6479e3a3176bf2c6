import type { Arrival } from '../contracts/conversation.ts';
import type { Identity } from '../contracts/decision.ts';
import type { RequestKey } from '../store/chats/request-keys.ts';
import type { Tx } from '../store/postgres/database.ts';
import type { Heard } from '../store/steps/transcript.ts';

/** A channel's own id of a message, or what an HTTP client calls its request by. */
export type MessageId = string | RequestKey;

/** A message as a person writes it. */
export interface InboundMessage {
  threadId: string;
  text: string;
  channelMessageId: MessageId;
  /** the text as the model reads it, with its author where several people write; commands and answers are without that */
  shown?: string;
  /** whose words that is made of */
  heard?: Heard;
  /** who wrote it, several where messages were put together; left out for what comes over HTTP */
  writers?: readonly Identity[];
  /** when it was written, as its channel says; when it came where that is not known */
  writtenAt?: Date;
  /** it answers exactly this question (a reaction, a vote, a quote); where that is settled, the person is told */
  questionId?: string;
  /** never a command and never an answer: text that was put together from several messages */
  plain?: boolean;
  /** what the screen that sends it had shown of the open questions; a channel that does not say shows what is stored at once */
  displayed?: readonly Displayed[];
  attachmentIds?: readonly string[];
  /** where several people write: who this is to the turn that asks for an approval; elsewhere the writer may approve */
  approver?: Approver;
  also?: Also;
}

/** A message that is answered without the model, with `body`: it could not be read, or it was too much at once. */
export interface AnsweredMessage {
  threadId: string;
  said: string;
  body: string;
  channelMessageId: string;
  also?: Also;
}

/** What a message became: what it means, its turn if it has one, and its row. */
export interface IntakeResult {
  kind: Arrival['kind'];
  turnId: string | null;
  inboxId: string;
}

/** Runs in the intake's transaction, also when the message was `known`; `inboxId` is the row that it became, now or then, and `kind` what it meant. */
export type Also = (tx: Tx, inboxId: string, kind: Arrival['kind'], known: boolean) => Promise<void>;

/** Whether somebody is the owner, and whether they asked for the turn. Runs in the intake's transaction. */
export type Approver = (tx: Tx, turnId: string) => Promise<{ owner: boolean; asked: boolean }>;

/** A question that a screen shows, and for how long it had when the person sent the message. */
export interface Displayed {
  id: string;
  ms: number;
}
