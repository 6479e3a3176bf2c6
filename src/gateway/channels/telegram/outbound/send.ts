import { setTimeout as pause } from 'node:timers/promises';
import type { Message } from '@grammyjs/types';
import type { Logger } from 'pino';
import { CATALOGUE, english, type Say, sayIn, type Told } from '../../../../domain/texts/say.ts';
import { HOUR } from '../../../../domain/time.ts';
import { dropOutgoing } from '../../../../store/chats/messages/outbox.ts';
import {
  findOutgoingRow,
  isProgressStale,
  type OutgoingRow,
  sendableAttachment,
} from '../../../../store/chats/messages/outgoing.ts';
import type { Db } from '../../../../store/postgres/database.ts';
import { moveChat } from '../../../../store/telegram/inbox.ts';
import {
  addTelegramSends,
  beginTelegramSend,
  endTelegramSend,
  giveUpTelegram,
  idsOfUnknown,
  markTelegramSent,
  progressMessage,
  requeueTelegramSend,
  type TelegramSend,
  telegramSendsOf,
} from '../../../../store/telegram/sends.ts';
import { tellScreens } from '../../../../store/turns/notices.ts';
import type { Intake } from '../../../intake/intake.ts';
import { ChannelAway, type ChannelSender } from '../../channel.ts';
import { type TelegramApi, TelegramError, type Upload } from '../api.ts';
import { type Part, write, writeProgress } from './compose.ts';
import type { Formatted } from './entities.ts';

const PROGRESS_EVERY_MS = 4_000;
const AGAIN_MS = 2_000;
const NO_TOKEN_MS = 60_000;
const PROBE_AGAIN_MS = 2_000;
/** Refusals of another kind after which a message is given up, so that it does not block its chat for ever. */
const MOST_REFUSED = 3;
/** Characters of a message whose arrival nobody can tell, as they are repeated. */
const BEGINNING_CHARS = 120;
const MB = 1024 * 1024;
/** Telegram's limit for files that a bot sends. */
const MOST_SENT = 50 * MB;

function inEveryLanguage(key: 'sent.unsure' | 'sent.twice'): string[] {
  return Object.keys(CATALOGUE).map((language) => sayIn(language)(key));
}

/** The report of a message that may be lost begins so. */
const UNSURE = inEveryLanguage('sent.unsure');
/** So does a question that was sent once more. */
const TWICE = inEveryLanguage('sent.twice');

interface SenderDeps {
  db: Db;
  log: Logger;
  api: TelegramApi;
  intake: Pick<Intake, 'respond'>;
}

/** Where a message goes. */
interface Place {
  chat_id: number;
  message_thread_id?: number;
}

const placeOf = (address: string): Place => {
  const [chat, thread] = address.split('/');
  return { chat_id: Number(chat), ...(thread !== undefined && { message_thread_id: Number(thread) }) };
};

/**
 * Sends on Telegram, which has no key that would make a second send of a message harmless. So an attempt is stored
 * before its bytes are sent. A message with an unknown outcome is looked for; if it is not found, that is reported, and
 * the message is never sent again.
 */
export class TelegramSender implements ChannelSender {
  private readonly deps: SenderDeps;
  private readonly running = new Map<string, Promise<void>>();
  /** chats into which nothing may be called before this time (ms): each call during the wait makes it longer */
  private readonly pausedUntil = new Map<number, number>();

  constructor(deps: SenderDeps) {
    this.deps = deps;
  }

  /** An attempt that Temporal gave up may still run here; the next one waits for its end and continues from there. */
  async send({ id }: { id: string }, signal: AbortSignal): Promise<void> {
    const before = this.running.get(id);
    const mine = (before ?? Promise.resolve()).catch(() => {}).then(() => this.deliver(id, signal));
    this.running.set(id, mine);
    try {
      await mine;
    } finally {
      if (this.running.get(id) === mine) this.running.delete(id);
    }
  }

  /** Shows in a chat that its turn is at work. It is only an indicator, so every failure is passed over. */
  async typing(address: string): Promise<void> {
    const place = placeOf(address);
    if (this.waitOf(place) > 0) return;
    await this.deps.api.call('sendChatAction', { ...place, action: 'typing' }).catch((error) => {
      if (error instanceof TelegramError) this.notePause(place, error);
    });
  }

  private waitOf({ chat_id }: Place): number {
    return (this.pausedUntil.get(chat_id) ?? 0) - Date.now();
  }

  /** How long the chat has to wait after a 429; null after any other failure. */
  private notePause({ chat_id }: Place, { failure }: TelegramError): number | null {
    if (failure.kind !== 'refused' || failure.code !== 429) return null;
    const ms = (failure.retryAfter ?? 5) * 1000;
    this.pausedUntil.set(chat_id, Date.now() + ms);
    return ms;
  }

  private async deliver(id: string, signal: AbortSignal): Promise<void> {
    const { db } = this.deps;
    const row = await findOutgoingRow(db, id);
    if (row?.state !== 'queued') return;
    if (row.kind === 'progress') return await this.progress(row, signal);
    let parts = await telegramSendsOf(db, id);
    if (parts.length === 0) {
      const made = write(row, Date.now() - row.createdAt.getTime());
      const sends = made.map((content, part) => ({
        part,
        chat: row.address,
        content,
        questionId: content.asks ? (row.question?.id ?? null) : null,
      }));
      parts = await addTelegramSends(db, id, sends);
    }
    for (const part of parts) {
      if (part.state === 'sending') await this.unknown(row, part);
      else if (part.state === 'queued' && !(await this.sendPart(row, part))) return;
    }
  }

  /** `false` when the row was given up. @throws ChannelAway when the part must be tried again */
  private async sendPart(row: OutgoingRow, send: TelegramSend): Promise<boolean> {
    const { db } = this.deps;
    const place = placeOf(send.chat);
    const wait = this.waitOf(place);
    if (wait > 0) throw new ChannelAway('Telegram has asked for a pause in this chat.', wait);
    if (!(await beginTelegramSend(db, send))) return true;
    try {
      const { message_id, date } = await this.sendContent(row, place, send.content as Part);
      await markTelegramSent(db, send, message_id, new Date(date * 1000));
      return true;
    } catch (error) {
      if (!(error instanceof TelegramError)) throw error;
      return await this.failed(row, send, error);
    }
  }

  private async sendContent(row: OutgoingRow, place: Place, content: Part): Promise<Message> {
    const { api, db } = this.deps;
    if (content.kind === 'text') {
      const { text, entities, buttons: reply_markup } = content;
      return await api.call('sendMessage', { ...place, text, entities, reply_markup });
    }
    if (content.kind === 'whole') {
      const { text: caption, entities: caption_entities } = content.caption;
      const data = Buffer.from(row.body);
      return await this.sendFile({ ...place, caption, caption_entities }, 'document', {
        name: 'answer.txt',
        mime: 'text/plain',
        data,
      });
    }
    const { id, caption } = content.attached;
    const file = row.threadId ? await sendableAttachment(db, id, row.threadId) : undefined;
    if (!file) return await api.call('sendMessage', { ...place, text: `(a file could not be sent: ${caption || id})` });
    const { data, mime, kind } = file;
    const tooLarge = `(${file.name ?? 'A file'} is too large for Telegram, which takes files up to ${MOST_SENT / MB} MB.)`;
    if (data.length > MOST_SENT) return await api.call('sendMessage', { ...place, text: tooLarge });
    const field = kind === 'image' ? 'photo' : kind === 'video' ? 'video' : kind === 'audio' ? 'audio' : 'document';
    // a longer description would make Telegram refuse the file
    const described = { ...place, ...(caption && { caption: caption.slice(0, 1000).toWellFormed() }) };
    return await this.sendFile(described, field, { name: file.name ?? 'file', mime, data });
  }

  /** What Telegram does not take as a picture, a video or a recording, it takes as a file. */
  private async sendFile(params: object, field: string, file: Omit<Upload, 'field'>): Promise<Message> {
    const { api } = this.deps;
    const send = (as: string) =>
      api.call<Message>(`send${as[0]!.toUpperCase()}${as.slice(1)}`, params, { field: as, ...file });
    return await send(field).catch((error) => {
      const refused = error instanceof TelegramError && error.failure.kind === 'refused' ? error.failure.code : 0;
      if (field === 'document' || (refused !== 400 && refused !== 413)) throw error;
      return send('document');
    });
  }

  private async failed(row: OutgoingRow, send: TelegramSend, error: TelegramError): Promise<boolean> {
    const { db, log } = this.deps;
    const { failure, message } = error;
    log.warn({ outboxId: row.id, part: send.part, reason: message }, 'a Telegram message was not sent');
    if (failure.kind === 'unknown') {
      await this.unknown(row, send);
      return true;
    }
    if (failure.kind === 'not sent') {
      await requeueTelegramSend(db, send);
      throw new ChannelAway('Telegram cannot be reached; the message waits.', AGAIN_MS);
    }
    const { code, description, movedTo } = failure;
    const paused = this.notePause(placeOf(send.chat), error);
    if (paused !== null) {
      await requeueTelegramSend(db, send);
      throw new ChannelAway('Telegram has asked for a pause in this chat.', paused);
    }
    if (code === 401 || code === 404) {
      await requeueTelegramSend(db, send);
      throw new ChannelAway('Telegram does not accept the token of the bot; the message waits.', NO_TOKEN_MS);
    }
    if (movedTo !== undefined) {
      await requeueTelegramSend(db, send);
      await moveChat(db, send.chat, String(movedTo));
      throw new ChannelAway('The group has a new address; the message goes there.', 100);
    }
    if (code === 403 || /chat not found/i.test(description)) {
      await this.abandon(row, (say) => say('because.tgNoChat', { words: description }));
      return false;
    }
    const simpler = simplified(send, description, sayIn(row.language));
    if (simpler && send.attempts < MOST_REFUSED) {
      await requeueTelegramSend(db, send, simpler.content);
      return await this.sendPart(row, { ...send, ...simpler, attempts: send.attempts + 1, state: 'queued' });
    }
    await this.abandon(row, (say) => say('because.tgRefused', { words: description }));
    return false;
  }

  /** Nobody can tell whether it arrived. A question is asked once more and says so, because it must be answerable. */
  private async unknown(row: OutgoingRow, send: TelegramSend): Promise<void> {
    const { db, log, intake } = this.deps;
    const arrived = await this.found(send);
    if (arrived !== null) return await markTelegramSent(db, send, arrived, new Date());
    log.warn({ outboxId: row.id, part: send.part }, 'nobody can tell whether a Telegram message arrived');
    const content = send.content as Part;
    if (send.questionId !== null && content.kind === 'text' && !TWICE.some((lead) => content.text.startsWith(lead))) {
      const again = withLead(content, `${sayIn(row.language)('sent.twice')}\n\n`);
      await requeueTelegramSend(db, send, again);
      await this.sendPart(row, { ...send, content: again, state: 'queued', attempts: send.attempts + 1 });
      return;
    }
    await endTelegramSend(db, send, 'unknown', 'nobody can tell whether it arrived');
    const words = content.kind === 'text' ? content.text.slice(0, BEGINNING_CHARS).toWellFormed() : null;
    const body: Told = (say) =>
      `${say('sent.unsure')} ${words === null ? say('sent.file') : say('sent.began', { words })}`;
    // the report of a report would go on for ever
    if (row.threadId === null || UNSURE.some((unsure) => row.body.startsWith(unsure)))
      return await this.tell(row, body);
    await intake.respond({
      threadId: row.threadId,
      said: '[a message of mine may be lost]',
      body,
      channelMessageId: `unknown/${row.id}/${send.part}`,
    });
  }

  /**
   * The id of a message with an unknown outcome, if it arrived. Giving it the buttons that it has shows nothing to the
   * person, and Telegram's refusal tells a message of ours from one of the person and from none.
   */
  private async found(send: TelegramSend): Promise<number | null> {
    const content = send.content as Part;
    const place = placeOf(send.chat);
    const reply_markup = content.kind === 'text' ? content.buttons : undefined;
    for (const again of [true, false]) {
      for (const message_id of await idsOfUnknown(this.deps.db, send)) {
        try {
          const message = await this.deps.api.call<Message | true>('editMessageReplyMarkup', {
            chat_id: place.chat_id,
            message_id,
            reply_markup,
          });
          if (content.kind !== 'text' || (message !== true && message.text === content.text.trim())) return message_id;
        } catch (error) {
          if (!(error instanceof TelegramError)) throw error;
          const { failure } = error;
          if (failure.kind !== 'refused' || failure.code !== 400) return null;
          if (/not modified/i.test(failure.description)) return message_id;
        }
      }
      // a slow request may still be carried out
      if (again) await pause(PROBE_AGAIN_MS);
    }
    return null;
  }

  private async abandon(row: OutgoingRow, why: Told): Promise<void> {
    await giveUpTelegram(this.deps.db, row.id, why(english));
    await this.tell(row, (say) => say('link.tgGivenUp', { because: why(say) }));
  }

  /** On the screens, once an hour for each chat. */
  private async tell(row: OutgoingRow, text: Told): Promise<void> {
    const key = `telegram-send-${row.address.replace(/\W/g, '_')}-${Math.floor(Date.now() / HOUR)}`;
    await tellScreens(this.deps.db, key, text, true).catch((error: Error) =>
      this.deps.log.error({ reason: error.message }, 'a problem of Telegram could not be told'),
    );
  }

  /** A progress report replaces the text of the previous one. An edit has the same effect however often it is sent. */
  private async progress(row: OutgoingRow, signal: AbortSignal): Promise<void> {
    const { db, api } = this.deps;
    if (!row.turnId) return;
    const { id, turnId } = row;
    const stale = () => isProgressStale(db, { id, turnId });
    let into = await progressMessage(db, turnId);
    const wait = into ? into.at.getTime() + PROGRESS_EVERY_MS - Date.now() : 0;
    if (wait > 0 && !(await stale())) {
      await pause(wait, undefined, { signal });
      into = await progressMessage(db, turnId);
    }
    const place = placeOf(row.address);
    // progress is only worth something now
    if ((await stale()) || this.waitOf(place) > 0)
      return await dropOutgoing(db, id, 'a newer report, the end of its turn or a pause came first');
    const content: Part = { kind: 'text', asks: false, ...writeProgress(row.body) };
    const [send] = await addTelegramSends(db, id, [{ part: 0, chat: row.address, content, questionId: null }]);
    if (send?.state !== 'queued' || !(await beginTelegramSend(db, send)))
      return await dropOutgoing(db, id, 'an earlier attempt may have shown it');
    const { text, entities } = content;
    try {
      const message_id = into?.messageId ?? (await this.firstProgress(place, { text, entities })).message_id;
      if (into) await api.call('editMessageText', { chat_id: place.chat_id, message_id, text, entities });
      await markTelegramSent(db, send, message_id, new Date());
    } catch (error) {
      if (!(error instanceof TelegramError)) throw error;
      this.notePause(place, error);
      const { failure } = error;
      if (into && failure.kind === 'refused' && /not modified/i.test(failure.description))
        return await markTelegramSent(db, send, into.messageId, new Date());
      await endTelegramSend(db, send, 'failed', error.message);
      await dropOutgoing(db, id, error.message);
    }
  }

  private async firstProgress(place: Place, text: Formatted): Promise<Message> {
    return await this.deps.api.call('sendMessage', { ...place, ...text, disable_notification: true });
  }
}

function withLead(part: Extract<Part, { kind: 'text' }>, lead: string): Part {
  const entities = part.entities.map((entity) => ({ ...entity, offset: entity.offset + lead.length }));
  // a question that does not fit any more was already shown; nothing of an answer may be left out
  if (!part.asks && lead.length + part.text.length > 4096) return part;
  return { ...part, text: (lead + part.text).slice(0, 4096).toWellFormed(), entities };
}

/** The message without what Telegram refused in it; null when nothing of it can be left out. */
function simplified(send: TelegramSend, description: string, say: Say): { content: Part; chat: string } | null {
  const content = send.content as Part;
  if (/thread not found|TOPIC_(CLOSED|DELETED)/i.test(description) && send.chat.includes('/'))
    return {
      content: content.kind === 'text' ? withLead(content, `${say('sent.noTopic')}\n\n`) : content,
      chat: send.chat.split('/')[0]!,
    };
  // the rest of the answer is still sent
  if (content.kind === 'attachment') {
    const text = say('sent.notTaken', { name: content.attached.caption || say('sent.unnamed') });
    return { content: { kind: 'text', asks: content.asks, text, entities: [] }, chat: send.chat };
  }
  if (content.kind !== 'text') return null;
  if (content.entities.length > 0 && /entit|parse/i.test(description))
    return { content: { ...content, entities: [] }, chat: send.chat };
  if (content.buttons && /button|markup/i.test(description)) {
    const { buttons: _, ...plain } = content;
    return { content: plain, chat: send.chat };
  }
  return null;
}
