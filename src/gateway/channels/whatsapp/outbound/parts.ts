import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sayIn } from '../../../../domain/texts/say.ts';
import { MINUTE } from '../../../../domain/time.ts';
import { canonicalUser } from '../../../../domain/whatsapp/identity.ts';
import { dropOutgoing } from '../../../../store/chats/messages/outbox.ts';
import { type OutgoingRow, sendableAttachment } from '../../../../store/chats/messages/outgoing.ts';
import { timerOf } from '../../../../store/whatsapp/chats.ts';
import {
  answered,
  keepUpload,
  progressState,
  type Quotable,
  replyJid,
  uploadsOf,
} from '../../../../store/whatsapp/outgoing.ts';
import { addSends, type NewSend, type Send, sendsOf } from '../../../../store/whatsapp/sends.ts';
import { withoutSecrets } from '../library/silence.ts';
import type { Live, WhatsAppDeps } from '../live.ts';
import { type Part, type Writing, write, writeProgress } from './compose.ts';
import { encode, type Sendable } from './encode.ts';
import { abandon } from './problems.ts';

/** Failed uploads after which the text of a message is sent without its file. */
const MOST_UPLOADS = 5;
/** Failed attempts to make a message after which it is given up. */
const MOST_ATTEMPTS = 15;
/** WhatsApp allows edits for 15 minutes. */
const EDIT_WINDOW_MS = 14 * MINUTE;
const EDIT_EVERY_MS = 4_000;

/**
 * The message id of a part, in the form of WhatsApp's own web client. It is the same on every attempt, so a phone shows
 * the message once.
 */
export const messageIdOf = (outboxId: string, part: number): string =>
  `3EB0${createHash('sha256').update(`${outboxId}\n${part}`).digest('hex').slice(0, 18).toUpperCase()}`;

/** The source of the messages of one row. */
interface Making {
  row: OutgoingRow;
  live: Live;
  jid: string;
  /** send texts in place of files */
  noFiles: boolean;
  /** the message that the first one quotes */
  answers: Quotable | null;
  /** seconds after which messages of the chat disappear; null when that is not known */
  timer: number | null;
  /** files that an earlier attempt uploaded; null when there are no files */
  uploaded: Awaited<ReturnType<typeof uploadsOf>> | null;
}

/**
 * Makes the messages of an outbox row at the first attempt, and finds them at later ones: same bytes, same ids, nothing
 * uploaded twice.
 */
export class PartMaker {
  private readonly deps: WhatsAppDeps;
  /** failed attempts of rows whose messages are not all made */
  private readonly failures = new Map<string, number>();

  constructor(deps: WhatsAppDeps) {
    this.deps = deps;
  }

  /** The parts of a row, made and stored at the first attempt; null when there is nothing to send. */
  async partsOf(row: OutgoingRow, live: Live, signal: AbortSignal): Promise<Send[] | null> {
    const { db, account, config } = this.deps;
    const known = await sendsOf(db, row.id);
    if (known.length > 0) return known;
    const writing: Writing = {
      row,
      ageMs: Date.now() - row.createdAt.getTime(),
      textLimit: config.WHATSAPP_TEXT_LIMIT,
      polls: config.WHATSAPP_POLLS,
      noFiles: (this.failures.get(row.id) ?? 0) >= MOST_UPLOADS,
    };
    const jid = await replyJid(db, account, row.address);
    if (jid === null) {
      await abandon(this.deps, row.id, (say) => say('because.otherNumber'));
      return null;
    }
    const called = config.FETCH_ASSISTANT_NAME;
    if (live.number === 'shared' && called !== 'none' && !isOwn(jid, live)) writing.name = called;
    if (row.kind === 'progress') return await this.progress(row, writing, live, jid, signal);
    const { parts, counters } = write(writing);
    const making: Making = {
      row,
      live,
      jid,
      noFiles: writing.noFiles === true,
      answers: await answered(db, account, row),
      timer: await timerOf(db, account, row.address),
      uploaded: parts.some((each, part) => fileOf(each, jid, part) !== '') ? await uploadsOf(db, row.id) : null,
    };
    const sends: NewSend[] = [];
    try {
      for (const [at, part] of parts.entries()) sends.push(await this.make(making, part, at));
    } catch (error) {
      await this.failed(row, live, error as Error);
      return null;
    }
    this.failures.delete(row.id);
    return await addSends(db, account, row.id, sends, counters);
  }

  private async make(
    { row, live, jid, noFiles, answers, timer, uploaded }: Making,
    part: Part,
    at: number,
  ): Promise<NewSend> {
    const { db, log } = this.deps;
    const messageId = messageIdOf(row.id, at);
    const file = fileOf(part, jid, at);
    const known = uploaded?.get(file);
    const quoted = at === 0 ? answers : null;
    const content =
      known ?? (await encode(await this.sendable(part, row, noFiles), { live, jid, messageId, quoted, timer, log }));
    // stored at once, so that the attempt after a kill finds it
    if (file !== '' && !known && !noFiles) await keepUpload(db, row.id, file, content);
    return {
      messageId,
      part: at,
      jid,
      content,
      questionId: part.asks ? (row.question?.id ?? null) : null,
      edits: null,
    };
  }

  /**
   * Counts a failure, and gives the row up after too many. A closed connection does not count. @throws the error, to
   * try again
   */
  private async failed(row: OutgoingRow, live: Live, error: Error): Promise<void> {
    const count = (this.failures.get(row.id) ?? 0) + (live.closed.aborted ? 0 : 1);
    this.failures.set(row.id, count);
    if (live.closed.aborted || count < MOST_ATTEMPTS) throw error;
    this.failures.delete(row.id);
    const words = withoutSecrets(error.message);
    await abandon(this.deps, row.id, (say) => say('because.notMade', { count, words }));
  }

  private async sendable(part: Part, row: OutgoingRow, noFiles: boolean): Promise<Sendable> {
    if (part.kind === 'text' || part.kind === 'poll') return part;
    if (part.kind === 'file') return { ...part, kind: 'media', as: 'document' };
    const { id, caption } = part.attached;
    const file = row.threadId && !noFiles ? await sendableAttachment(this.deps.db, id, row.threadId) : undefined;
    if (!file) return { kind: 'text', text: sayIn(row.language)('sent.notSent', { name: caption || id }) };
    return { kind: 'media', as: file.kind, data: file.data, mime: file.mime, name: file.name ?? 'file', caption };
  }

  /** A progress report replaces the text of the previous one, so a turn has one message for all of them. */
  private async progress(
    row: OutgoingRow,
    writing: Writing,
    live: Live,
    jid: string,
    signal: AbortSignal,
  ): Promise<Send[] | null> {
    const { db, account, log } = this.deps;
    const look = async () => await progressState(db, row, new Date(Date.now() - EDIT_WINDOW_MS));
    let state = await look();
    const wait = state.lastSentAt ? state.lastSentAt.getTime() + EDIT_EVERY_MS - Date.now() : 0;
    if (!state.stale && wait > 0) {
      await pause(wait, undefined, { signal });
      state = await look();
    }
    if (state.stale) {
      await dropOutgoing(db, row.id, 'a newer report or the end of its turn came first');
      return null;
    }
    const { into } = state;
    const messageId = messageIdOf(row.id, 0);
    const text = writeProgress(writing);
    const to = into?.jid ?? jid;
    const sendable: Sendable = into ? { kind: 'edit', text, messageId: into.messageId } : { kind: 'text', text };
    const timer = await timerOf(db, account, row.address);
    const content = await encode(sendable, { live, jid: to, messageId, quoted: null, timer, log });
    const send: NewSend = { messageId, part: 0, jid: to, content, questionId: null, edits: into?.messageId ?? null };
    return await addSends(db, account, row.id, [send], { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 });
  }
}

/** Whether a chat is the one with oneself, where only the account writes. */
const isOwn = (jid: string, { me }: Live): boolean => [me.jid, me.lid].includes(canonicalUser(jid));

/** Identifies a message with a file at another attempt (only the first message of a row quotes); empty for others. */
function fileOf(part: Part, jid: string, at: number): string {
  if (part.kind === 'attachment') return JSON.stringify([jid, at === 0, part.attached.id, part.attached.caption]);
  return part.kind === 'file' ? JSON.stringify([jid, part.caption]) : '';
}
