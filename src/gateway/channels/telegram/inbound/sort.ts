import type { CallbackQuery, ChatMemberUpdated, Message, MessageReactionUpdated } from '@grammyjs/types';
import type { Logger } from 'pino';
import type { Config } from '../../../../config.ts';
import { OLD_AFTER_MS } from '../../../../domain/chat/burst.ts';
import { shownOfMessage } from '../../../../domain/chat/context/context.ts';
import { mayCall } from '../../../../domain/chat/groups.ts';
import { afterCall } from '../../../../domain/chat/trigger.ts';
import { parseCommand } from '../../../../domain/chat/words/commands.ts';
import { reactionText } from '../../../../domain/consent/reactions.ts';
import { continued, quotation } from '../../../../domain/text/foreign-text.ts';
import type { Say, Told } from '../../../../domain/texts/say.ts';
import { HOUR, MINUTE } from '../../../../domain/time.ts';
import { amendTalk, countMembers, type Group, groupAt, isAnswered, noteTalk } from '../../../../store/chats/groups.ts';
import { wroteTurn } from '../../../../store/chats/messages/inbox.ts';
import { sayTo } from '../../../../store/chats/preferences.ts';
import { chatOfThread } from '../../../../store/chats/threads/threads.ts';
import type { Db, Tx } from '../../../../store/postgres/database.ts';
import { pair, type TelegramPerson, telegramId, telegramPerson } from '../../../../store/telegram/bots.ts';
import {
  delayUpdates,
  endUpdates,
  moveChat,
  receivedUpdate,
  replaceUpdate,
  type WaitingUpdate,
} from '../../../../store/telegram/inbox.ts';
import { type AskedOnTelegram, askedOnTelegram, ourTelegramMessage } from '../../../../store/telegram/sends.ts';
import { amendInput } from '../../../../store/turns/amend.ts';
import type { Approver, Intake } from '../../../intake/intake.ts';
import { IntakeError } from '../../../intake/intake.ts';
import type { AnsweredMessage } from '../../../intake/message.ts';
import { ChatBatcher } from '../../shared/batcher.ts';
import { noteJoined, noteLeft, noteOwnerLeft, noteRenamed } from '../../shared/groups.ts';
import { labelOf, memberSource, type PendingMessage, questionOf } from '../../shared/pending.ts';
import { createLimiter } from '../../shared/rate-limit.ts';
import type { Sorted } from '../../shared/receiver.ts';
import type { TelegramApi } from '../api.ts';
import { offeredBy } from '../outbound/compose.ts';
import { decode, emojiOf, type Incoming, keyOf, meantForUs, nobodys, pressIn } from './decode.ts';
import { FileLoader } from './files.ts';

interface SortDeps {
  db: Db;
  config: Config;
  log: Logger;
  api: TelegramApi;
  intake: Intake;
  bot: { id: number; username: string };
  /** a file is loaded, or will not come */
  onPrepared(): void;
}

const PER_MINUTE = 30;
const STOPS_PER_MINUTE = 5;
const TOLD_FOR_MS = 10 * MINUTE;
const FAILED_MS = 5_000;
/** Times are whole seconds, so a message can have been written so much later than it says. */
const SECOND = 1_000;

/** Somebody who may write. `member`: in a registered group whose rule allows it. */
type Writer = Pick<TelegramPerson, 'user_id'> & { role: TelegramPerson['role'] | 'member' };

/** Decides for each row what it is and for which chat, and gives messages for us to the batcher of their chat. */
export class TelegramSorter {
  /** batchers with messages, by the address of their chat */
  readonly batchers = new Map<string, ChatBatcher>();
  private readonly deps: SortDeps;
  private readonly files: FileLoader;
  private readonly limiter = createLimiter(PER_MINUTE);
  /** a person who wrote too much must still be able to stop the result */
  private readonly stops = createLimiter(STOPS_PER_MINUTE);
  private readonly threads = new Map<string, string>();
  private readonly toldParts = new Map<string, number>();

  constructor(deps: SortDeps) {
    this.deps = deps;
    this.files = new FileLoader({
      ...deps,
      failed: async (row, error) => {
        for (const batcher of this.batchers.values()) batcher.remove(row.seq);
        await this.failed(row, error);
      },
    });
  }

  /** Cancels loading; the messages stay in the table. */
  stop(): void {
    this.files.stop();
  }

  async sort(row: WaitingUpdate): Promise<Sorted> {
    if (row.kind === 'press') return await this.press(row, row.content as CallbackQuery);
    if (row.kind === 'reaction') return await this.reaction(row, row.content as MessageReactionUpdated);
    if (row.kind === 'member') return await this.member(row.content as ChatMemberUpdated);
    const message = row.content as Message;
    return row.kind === 'edit' ? await this.edit(row, message) : await this.message(row, message);
  }

  /** A failed row is tried again later and later, and never given up: it is somebody's message. */
  async failed(row: WaitingUpdate, error: unknown): Promise<null> {
    const { db, log } = this.deps;
    log.error(
      { seq: row.seq, attempts: row.attempts + 1, reason: (error as Error).message },
      'a Telegram message could not be handled; it is tried again',
    );
    await delayUpdates(db, [row.seq], new Date(Date.now() + Math.min(FAILED_MS * 2 ** row.attempts, HOUR)), true);
    return null;
  }

  private async message(row: WaitingUpdate, message: Message): Promise<Sorted> {
    const { db, bot } = this.deps;
    if (message.migrate_to_chat_id !== undefined) {
      await moveChat(db, String(message.chat.id), String(message.migrate_to_chat_id));
      this.threads.clear();
      return { verdict: 'moved' };
    }
    // of the two notes about one move, either can be the first
    if (message.migrate_from_chat_id !== undefined) {
      await moveChat(db, String(message.migrate_from_chat_id), String(message.chat.id));
      this.threads.clear();
      return { verdict: 'moved' };
    }
    await this.noteChanges(message);
    const nobody = nobodys(message);
    if (nobody) return { verdict: nobody };
    const it = decode(message, bot.id);
    const code = message.chat.type === 'private' ? /^\/start ([\w-]{1,64})$/.exec(it.text)?.[1] : undefined;
    if (code !== undefined && (await this.paired(row, it, code))) return null;
    const group = message.chat.type === 'private' ? undefined : await groupAt(db, 'telegram', it.address);
    if (group?.registered_at && !isAnswered(group)) return { verdict: 'paused' };
    const person = await this.writer(it.user.id, group);
    const nothing = it.text === '' && !it.file && !it.unreadable;
    if (!person) return nothing ? { verdict: 'stranger' } : await this.talk(it, group, 'stranger');
    if (code !== undefined && person.role !== 'member')
      return await this.respond(it.address, '/start', pairedText(person.role), row);
    if (nothing) return { verdict: 'empty' };
    const meant = meantForUs(
      it,
      bot,
      this.afterCallIn(group),
      group?.registered_at != null && group.rule.when === 'always',
    );
    if (meant === null) return await this.talk(it, group, 'not_addressed');
    const limited = this.limited(row, it, meant);
    if (limited?.tell)
      await this.respond(it.address, '[many messages at once]', (say) => say('limit.burst'), row, 'limit');
    if (limited) return { until: limited.until };
    const { unreadable } = it;
    if (unreadable && it.text === '' && !it.file)
      return await this.respond(it.address, '[a message that could not be read]', (say) => say(unreadable), row);
    await this.batch(row, it, person, meant);
    return null;
  }

  private afterCallIn = (group: Group | undefined) => (text: string) =>
    afterCall(text, this.deps.config.FETCH_TRIGGER, group?.registered_at ? group.rule : null);

  /** Who writes, if they may: in a registered group as its rule says. */
  private async writer(userId: number, group: Group | undefined): Promise<Writer | undefined> {
    const person = await telegramPerson(this.deps.db, userId);
    if (!group?.registered_at) return person;
    const role = person?.role ?? 'stranger';
    if (!mayCall(group.rule, { role, id: telegramId(userId) })) return undefined;
    return person ?? { user_id: userId, role: 'member' };
  }

  /** What is said in a registered group and not to us, which the next answer there reads. */
  private async talk(it: Incoming, group: Group | undefined, verdict: string): Promise<Sorted> {
    const { db } = this.deps;
    const { message, address, user, text, file } = it;
    if (!group?.registered_at) return { verdict };
    const body = [file ? `[${file.kind}]` : '', text].filter(Boolean).join(' ');
    if (body === '') return { verdict };
    await noteTalk(db, {
      chatId: await chatOfThread(db, await this.threadOf(address)),
      key: keyOf(message.chat.id, message.message_id),
      author: user.name,
      owner: (await telegramPerson(db, user.id))?.role === 'owner',
      person: telegramId(user.id),
      body,
      saidAt: it.at,
    });
    return { verdict };
  }

  private readonly on = () => ({ ...this.deps, channel: 'telegram' as const });

  /** The bot was added to a group, or removed from it. */
  private async member({ chat, new_chat_member: now }: ChatMemberUpdated): Promise<Sorted> {
    if (chat.type !== 'group' && chat.type !== 'supergroup') return { verdict: 'member' };
    const address = String(chat.id);
    if (now.status === 'left' || now.status === 'kicked') await noteLeft(this.on(), address);
    else {
      const count = await this.deps.api.call<number>('getChatMemberCount', { chat_id: chat.id }).catch(() => null);
      await noteJoined(this.on(), { address, name: chat.title, members: count });
    }
    return { verdict: 'member' };
  }

  /** What a service message says of its group. */
  private async noteChanges(message: Message): Promise<void> {
    const { chat, new_chat_title: title, new_chat_members: came, left_chat_member: left } = message;
    const change = (came?.length ?? 0) - (left ? 1 : 0);
    if (change !== 0 && left?.id !== this.deps.bot.id && !came?.some(({ id }) => id === this.deps.bot.id))
      await countMembers(this.deps.db, 'telegram', String(chat.id), change);
    if (title !== undefined) await noteRenamed(this.on(), String(chat.id), title);
    if (left && !left.is_bot && (await telegramPerson(this.deps.db, left.id))?.role === 'owner')
      await noteOwnerLeft(this.on(), String(chat.id));
  }

  /** Whether a code made its sender a person who may write. It counts once, with the end of its row. */
  private async paired(row: WaitingUpdate, { address, user }: Incoming, code: string): Promise<boolean> {
    const { db, log } = this.deps;
    const role = await db.transaction().execute(async (tx) => await pair(tx, code, user));
    if (!role) return false;
    log.info({ role }, 'somebody was paired with Telegram');
    await this.respond(address, '/start', pairedText(role), row);
    return true;
  }

  private limited(row: WaitingUpdate, { user, at, message }: Incoming, text: string) {
    if (isOld(at) || (parseCommand(text) === 'stop' && this.stops.check(String(user.id), Date.now()).admitted))
      return null;
    // an album counts as one message, and so does what waited
    if (message.media_group_id !== undefined && message.caption === undefined) return null;
    const limited =
      row.notBefore !== null && row.attempts === 0
        ? this.limiter.checkHeld(String(user.id))
        : this.limiter.check(String(user.id), at.getTime());
    return limited.admitted ? null : limited;
  }

  private async batch(row: WaitingUpdate, it: Incoming, person: Writer, meant: string): Promise<void> {
    const { message, address, user, quoted, file } = it;
    const threadId = await this.threadOf(address);
    const group = message.chat.type !== 'private';
    const ours =
      quoted?.fromUs && quoted.messageId !== null
        ? await ourTelegramMessage(this.deps.db, address, quoted.messageId)
        : undefined;
    // `/start` alone is how Telegram begins every chat with a bot
    const whole = meant === '/start' ? 'help' : meant.trim();
    const bare = whole === '' && !file;
    const text = bare ? quoted?.text || 'help' : whole;
    const quotesOthers = quoted !== null && !quoted.fromUs && !quoted.own;
    const ofOthers = it.ofOthers ?? (bare && quoted?.text && quotesOthers ? 'quoted' : null);
    const questionId = ofOthers === null ? questionOf(ours, address, text) : null;
    const given = new AbortController();
    const pending: PendingMessage = {
      seq: row.seq,
      id: row.key,
      chat: address,
      author: group ? user.name : null,
      name: user.name,
      by: this.identity(person),
      ...(group && { approver: approverOf(person) }),
      text,
      quoted: bare ? null : quoted?.text || null,
      quotesOthers,
      ofOthers,
      bare: !file && ofOthers === null,
      announces: null,
      album: message.media_group_id ?? null,
      pictured: file?.kind === 'image' || file?.kind === 'video',
      apart: false,
      questionId,
      elsewhere: quoted !== null && questionId === null,
      sentAt: it.at,
      writtenAt: new Date(it.at.getTime() + SECOND),
      at: Date.now(),
      old: isOld(it.at),
      late: !isOld(it.at) && row.notBefore !== null && row.attempts === 0,
      prepared: file ? null : { text, attachmentIds: [], tell: null },
      drop: () => given.abort(),
    };
    if (file) this.files.load(row, pending, threadId, file, given.signal);
    const batcher = this.batchers.get(address) ?? this.newBatcher(address, threadId);
    this.batchers.set(address, batcher);
    batcher.add(pending);
  }

  private identity = ({ role, user_id }: Writer) => ({ role, channel: 'telegram', id: telegramId(user_id) }) as const;

  private newBatcher(address: string, threadId: string): ChatBatcher {
    const { db, intake, config } = this.deps;
    return new ChatBatcher({
      db,
      intake,
      threadId,
      channel: 'telegram',
      shownChars: shownOfMessage(config.FETCH_CONTEXT_TOKENS),
      tells: () => {
        const tells = Date.now() - (this.toldParts.get(address) ?? 0) >= TOLD_FOR_MS;
        if (tells) this.toldParts.set(address, Date.now());
        return tells;
      },
      markHandled: endUpdates,
    });
  }

  /** An edit before its message was read changes it; after that the model is told. */
  private async edit(row: WaitingUpdate, message: Message): Promise<Sorted> {
    const { db, bot, intake } = this.deps;
    const original = await receivedUpdate(db, bot.id, keyOf(message.chat.id, message.message_id));
    const { text: was, from } = { from: undefined, ...(original?.content as Partial<Message>) };
    const at = message.chat.type === 'private' ? undefined : await groupAt(db, 'telegram', String(message.chat.id));
    if (at?.registered_at) await this.amendTalk(message);
    if (!original || nobodys(message) || (original.verdict !== null && original.inboxId === null))
      return { verdict: 'edit' };
    if (original.verdict === null) {
      await db.transaction().execute(async (tx) => {
        await replaceUpdate(tx, original.seq, message);
        await endUpdates(tx, [row.seq], 'edit');
      });
      this.batchers.get(original.chat)?.remove(original.seq);
      return null;
    }
    const before = was ?? (original.content as Message).caption ?? '';
    const now = message.text ?? message.caption ?? '';
    // Telegram also reports changes that nobody sees
    if (before === now || from?.id !== message.from?.id) return { verdict: 'edit' };
    const it = decode(message, bot.id);
    const group = message.chat.type !== 'private';
    const owner = (await telegramPerson(db, it.user.id))?.role === 'owner';
    const others = group && !owner ? it.user.name : it.ofOthers ? labelOf(it.ofOthers) : null;
    const meant = (text: string) =>
      meantForUs({ ...it, message: { ...message, text }, text }, bot, this.afterCallIn(at)) ?? text;
    const amended = await amendInput(
      db,
      original.inboxId!,
      {
        was: [before, meant(before)],
        now: meant(now),
        note: `[${it.user.name} edited an earlier message. It was:]\n${quotation(before)}\n[It reads now:]\n${quotation(now)}`,
        heard: others === null ? { words: now } : { sources: [memberSource(others)], words: '' },
        ...(group && { continued }),
      },
      async (tx) => {
        await replaceUpdate(tx, original.seq, message);
        await endUpdates(tx, [row.seq], 'edit', original.inboxId);
      },
    );
    if (amended.kind === 'emptied')
      await intake.interrupt({ ...amended, channelMessageId: row.key }).catch((error) => {
        // it ended by itself meanwhile
        if (!(error instanceof IntakeError)) throw error;
      });
    return null;
  }

  private async amendTalk(message: Message): Promise<void> {
    const { db, bot } = this.deps;
    const chatId = await chatOfThread(db, await this.threadOf(decode(message, bot.id).address));
    const text = message.text ?? message.caption ?? '';
    await amendTalk(db, chatId, keyOf(message.chat.id, message.message_id), text || null);
  }

  /** A pressed button answers its question. What it carries could be forged, so it counts only in its own chat. */
  private async press(row: WaitingUpdate, query: CallbackQuery): Promise<Sorted> {
    const { db } = this.deps;
    const { queryId, userId, data, chat, messageId } = pressIn(query);
    const group = row.chat.startsWith('-') ? await groupAt(db, 'telegram', row.chat) : undefined;
    const person = await this.writer(userId, group);
    // the outcome of the send that made the button may be unknown, so it says itself what it answers
    const asked = await askedOnTelegram(db, row.chat, data.slice(0, data.lastIndexOf('/')));
    const answer = asked && offeredBy({ ...asked, rest: 1 })[Number(data.split('/').at(-1))];
    // in a group, what a press carries could be forged to take the buttons from others
    if (person && (asked ? !asked.open : chat > 0))
      this.quietly('editMessageReplyMarkup', { chat_id: chat, message_id: messageId });
    if (!person || !answer) {
      const say = await this.sayAt(row.chat);
      this.acknowledge(queryId, say(person ? 'press.settled' : 'press.stranger'));
      return { verdict: person ? 'press' : 'stranger' };
    }
    await this.answer(row, asked, answer, person);
    this.acknowledge(queryId);
    const settled = (await askedOnTelegram(db, row.chat, asked.id))?.open === false;
    // buttons of a settled question only mislead
    if (settled) this.quietly('editMessageReplyMarkup', { chat_id: chat, message_id: messageId });
    return null;
  }

  /** A reaction to a question, as on WhatsApp. One that is taken off changes no decision. */
  private async reaction(row: WaitingUpdate, update: MessageReactionUpdated): Promise<Sorted> {
    const { db } = this.deps;
    const group = update.chat.type === 'private' ? undefined : await groupAt(db, 'telegram', row.chat);
    const person = update.user && (await this.writer(update.user.id, group));
    if (!person) return { verdict: 'stranger' };
    const asked = (await ourTelegramMessage(db, row.chat, update.message_id))?.question;
    const answer = asked?.open ? reactionText(emojiOf(update), asked.options) : null;
    if (!asked || answer === null) return { verdict: 'reaction' };
    await this.answer(row, asked, answer, person);
    return null;
  }

  private async answer(row: WaitingUpdate, asked: AskedOnTelegram, text: string, person: Writer): Promise<void> {
    await this.deps.intake.say({
      threadId: asked.again ? await this.threadOf(row.chat) : asked.threadId,
      text,
      questionId: asked.id,
      channelMessageId: row.key,
      writers: [this.identity(person)],
      ...(row.chat.startsWith('-') && { approver: approverOf(person) }),
      also: (tx, inboxId, kind) => endUpdates(tx, [row.seq], kind, inboxId),
    });
  }

  /** The app shows a clock until then, and after some seconds Telegram takes no answer any more. */
  private acknowledge(queryId: string, text?: string): void {
    this.quietly('answerCallbackQuery', { callback_query_id: queryId, text });
  }

  private async sayAt(address: string): Promise<Say> {
    const { db } = this.deps;
    return await sayTo(db, await chatOfThread(db, await this.threadOf(address)));
  }

  private quietly(method: string, params: object): void {
    this.deps.api
      .call(method, params)
      .catch((error: Error) => this.deps.log.debug({ reason: error.message }, 'a button was not updated'));
  }

  private async threadOf(address: string): Promise<string> {
    const known = this.threads.get(address);
    if (known) return known;
    const { id } = await this.deps.intake.channelThread('telegram', address);
    this.threads.set(address, id);
    return id;
  }

  /** Answers without the model. `about` tells an answer beside the message from the one that ends it. */
  private async respond(
    address: string,
    said: string,
    body: AnsweredMessage['body'],
    row: WaitingUpdate,
    about: string | null = null,
  ): Promise<null> {
    await this.deps.intake.respond({
      threadId: await this.threadOf(address),
      said,
      body,
      channelMessageId: about === null ? row.key : `${row.key}/${about}`,
      also: (tx: Tx, inboxId: string) => endUpdates(tx, about === null ? [row.seq] : [], 'told', inboxId),
    });
    return null;
  }
}

const pairedText =
  (role: TelegramPerson['role']): Told =>
  (say) =>
    say(`paired.${role}`);

const isOld = (at: Date): boolean => Date.now() - at.getTime() > OLD_AFTER_MS;

/** The role of a group's member in a turn: the owner, or one who began it. */
const approverOf =
  ({ role, user_id }: Writer): Approver =>
  async (tx, turnId) => ({
    owner: role === 'owner',
    asked: await wroteTurn(tx, turnId, { channel: 'telegram', id: telegramId(user_id) }),
  });
