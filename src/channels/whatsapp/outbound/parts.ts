import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { answered, dropOutgoing, type OutgoingRow, progressState, replyJid, sendableAttachment } from '../../../store/whatsapp/outgoing.ts';
import { addSends, type NewSend, type Send, sendsOf } from '../../../store/whatsapp/sends.ts';
import { keepUpload, uploadsOf } from '../../../store/whatsapp/uploads.ts';
import { withoutSecrets } from '../link/silence.ts';
import type { Live, WhatsAppDeps } from '../live.ts';
import { type Part, type Writing, write, writeProgress } from './compose.ts';
import { encode, type Sendable } from './encode.ts';

/** Uploads of one message that may fail before its text is sent without the file. */
const MOST_UPLOADS = 5;
/** And attempts to make a message, with and without its file, after which it is given up. */
const MOST_ATTEMPTS = 15;
/** WhatsApp lets a message be edited for 15 minutes. */
const EDIT_WINDOW_MS = 14 * 60_000;
const EDIT_EVERY_MS = 4_000;

/** The id of a part of an outbox row, in the form of WhatsApp's own web client: the same on every attempt, so a phone shows it once. */
export const messageIdOf = (outboxId: string, part: number): string =>
  `3EB0${createHash('sha256').update(`${outboxId}\n${part}`).digest('hex').slice(0, 18).toUpperCase()}`;

/** Makes the messages of an outbox row at its first attempt, and finds them at every later one: the same bytes, the same ids, nothing uploaded twice. */
export function createParts({ db, account, config, log }: WhatsAppDeps, abandon: (outboxId: string, why: string) => Promise<unknown>) {
  // attempts of rows whose messages could not all be made yet
  const failures = new Map<string, number>();

  /** The parts of a row, made and stored at the first attempt; null when there is nothing to send. */
  async function parts(row: OutgoingRow, live: Live, signal: AbortSignal): Promise<Send[] | null> {
    const known = await sendsOf(db, row.id);
    if (known.length > 0) return known;
    let failed = failures.get(row.id) ?? 0;
    const writing: Writing = {
      row,
      ageMs: Date.now() - row.createdAt.getTime(),
      textLimit: config.WHATSAPP_TEXT_LIMIT,
      polls: config.WHATSAPP_POLLS,
      noFiles: failed >= MOST_UPLOADS,
    };
    const jid = await replyJid(db, account, row.address);
    if (row.kind === 'progress') return await progress(row, writing, live, jid, signal);
    const { parts: written, counters } = write(writing);
    const quoted = await answered(db, account, row);
    const uploaded = written.some((each, part) => fileOf(each, jid, part) !== '') ? await uploadsOf(db, row.id) : null;
    const sends: NewSend[] = [];
    try {
      for (const [part, each] of written.entries()) {
        const messageId = messageIdOf(row.id, part);
        const file = fileOf(each, jid, part);
        const known = uploaded?.get(file);
        const content = known ?? (await encode(await toSendable(each, row, writing), { live, jid, messageId, quoted: part === 0 ? quoted : null, log }));
        // at once: whoever goes on after a kill has it
        if (file !== '' && !known && !writing.noFiles) await keepUpload(db, row.id, file, content);
        sends.push({ messageId, part, jid, content, questionId: each.asks ? (row.question?.id ?? null) : null, edits: null });
      }
    } catch (error) {
      // a connection that closed says nothing about the file
      if (!live.closed.aborted) failed += 1;
      failures.set(row.id, failed);
      if (live.closed.aborted || failed < MOST_ATTEMPTS) throw error;
      failures.delete(row.id);
      await abandon(row.id, `it could not be made in ${failed} attempts: ${withoutSecrets((error as Error).message)}`);
      return null;
    }
    failures.delete(row.id);
    return await addSends(db, account, row.id, sends, counters);
  }

  async function toSendable(part: Part, row: OutgoingRow, writing: Writing): Promise<Sendable> {
    if (part.kind === 'text' || part.kind === 'poll') return part;
    if (part.kind === 'file') return { ...part, kind: 'media', as: 'document' };
    const { id, caption } = part.attached;
    const file = row.threadId && !writing.noFiles ? await sendableAttachment(db, id, row.threadId) : undefined;
    if (!file) return { kind: 'text', text: `(a file could not be sent: ${caption || id})` };
    return { kind: 'media', as: file.kind, data: file.data, mime: file.mime, name: file.name ?? 'file', caption };
  }

  /** A progress report replaces the text of the one before it: one message a turn, however much there is to tell. */
  async function progress(row: OutgoingRow, writing: Writing, live: Live, jid: string, signal: AbortSignal): Promise<Send[] | null> {
    const place = async () => await progressState(db, row, new Date(Date.now() - EDIT_WINDOW_MS));
    let state = await place();
    const wait = state.lastSentAt ? state.lastSentAt.getTime() + EDIT_EVERY_MS - Date.now() : 0;
    if (!state.stale && wait > 0) {
      await pause(wait, undefined, { signal });
      state = await place();
    }
    if (state.stale) {
      await dropOutgoing(db, row.id, 'a newer report or the end of its turn came first');
      return null;
    }
    const messageId = messageIdOf(row.id, 0);
    const text = writeProgress(writing);
    const to = state.into?.jid ?? jid;
    const content = await encode(state.into ? { kind: 'edit', text, messageId: state.into.messageId } : { kind: 'text', text }, {
      live,
      jid: to,
      messageId,
      quoted: null,
      log,
    });
    const send: NewSend = { messageId, part: 0, jid: to, content, questionId: null, edits: state.into?.messageId ?? null };
    return await addSends(db, account, row.id, [send], { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 });
  }

  return parts;
}

/** What makes a message with a file the same at another attempt (only the first message of a row quotes); '' for others. */
function fileOf(part: Part, jid: string, at: number): string {
  if (part.kind === 'attachment') return JSON.stringify([jid, at === 0, part.attached.id, part.attached.caption]);
  return part.kind === 'file' ? JSON.stringify([jid, part.caption]) : '';
}
