import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { shownOfMessage } from '../../../../domain/chat/context/context.ts';
import { parseCommand } from '../../../../domain/chat/words/commands.ts';
import { inline } from '../../../../domain/text/foreign-text.ts';
import { HOUR, MINUTE } from '../../../../domain/time.ts';
import { roleOf } from '../../../../domain/whatsapp/identity.ts';
import { amendTalk, groupAt, isAnswered, noteTalk } from '../../../../store/chats/groups.ts';
import type { Tx } from '../../../../store/postgres/database.ts';
import { tellOwner } from '../../../../store/whatsapp/account.ts';
import { findGroup } from '../../../../store/whatsapp/chats.ts';
import { endDelays, markHandled, putOff, received, type Waiting } from '../../../../store/whatsapp/inbox.ts';
import { type Intake, IntakeError } from '../../../intake/intake.ts';
import type { AnsweredMessage } from '../../../intake/message.ts';
import { ChatBatcher } from '../../shared/batcher.ts';
import { createLimiter } from '../../shared/rate-limit.ts';
import type { Sorted } from '../../shared/receiver.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { type Admitted, admit, idOfPerson, type Self } from './admit.ts';
import { albumIdOf } from './albums.ts';
import { amend } from './amend.ts';
import { type Content, decodeRow, type Incoming, idOf } from './decode.ts';
import { ChatDirectory } from './directory.ts';
import { type Decision, type Interpretation, interpretReaction, interpretVote } from './interpret.ts';
import type { Unread } from './message-kinds.ts';
import { Preparer } from './prepare.ts';

interface SortDeps extends WhatsAppDeps {
  intake: Intake;
  live: CurrentLive;
  /** a file is loaded, or will not come */
  onPrepared(): void;
}

/** What a message says to those who read along. */
function spokenIn(content: Content): string {
  if (content.kind === 'text') return content.text.trim();
  return content.kind === 'media' ? `[${content.media.kind}] ${content.text}`.trim() : '';
}

const STOPS_PER_MINUTE = 5;
const TOLD_FOR_MS = 10 * MINUTE;
const FAILED_MS = 5_000;
/** How long an edit or a deletion waits for its message: one that was asked for again, and one that nobody has seen. */
const RESENT_WITHIN_MS = 2 * MINUTE;
const FOLLOWS_WITHIN_MS = 15_000;
/** Shorter than a burst, so that the message is not passed on before its edit. */
const AGAIN_MS = 250;
const FAILED_LONGEST_MS = HOUR;

/** The album that a message announces or belongs to. */
const albumOf = ({ address, message }: Admitted): string =>
  `${address}/${message.author.lid ?? message.author.pn}/${albumIdOf(message)}`;

/** Decides for each row what it is and for which chat, and gives messages for us to the batcher of their chat. */
export class Sorter {
  /** batchers with messages, by the address of their chat */
  readonly batchers = new Map<string, ChatBatcher>();
  private readonly deps: SortDeps;
  private readonly directory: ChatDirectory;
  private readonly preparer: Preparer;
  private readonly limiter: ReturnType<typeof createLimiter>;
  /** a person who wrote too much must still be able to stop the result */
  private readonly stops = createLimiter(STOPS_PER_MINUTE);
  /** pictures that announced albums still expect, by album; 0 as well when some came before their album */
  private readonly albums = new LRUCache<string, number>({ max: 1_000 });
  /** when chats were last told that much is read in parts */
  private readonly toldParts = new Map<string, number>();

  constructor(deps: SortDeps) {
    this.deps = deps;
    this.directory = new ChatDirectory(deps);
    this.preparer = new Preparer({
      ...deps,
      failed: async (row, error) => {
        for (const batcher of this.batchers.values()) batcher.remove(row.seq);
        await this.failed(row, error);
      },
      respond: (...told) => this.respondIn(...told),
    });
    this.limiter = createLimiter(() => deps.config.WHATSAPP_RATE_LIMIT);
  }

  /** Cancels loading; the messages stay in the table. */
  stop(): void {
    this.preparer.stop();
  }

  async sort(row: Waiting, self: Self): Promise<Sorted> {
    const message = await decodeRow(row, self);
    const { content } = message;
    await this.directory.noteTimer(message, self.people);
    if (content.kind === 'nothing' && content.why !== 'stub') return { verdict: content.why };
    const it = await admit(this.deps, this.directory, row, message, self);
    if ('verdict' in it && it.verdict === 'stub') await this.tellUnreadable(message);
    if ('verdict' in it) await this.noteTalk(message, it.verdict, self);
    if ('verdict' in it || 'until' in it) return it;
    const decides = await this.interpretation(it);
    if (decides && 'verdict' in decides) return decides;
    // pictures that came before their album wait for the others only as long as they are not passed on
    const isBegun = this.batchers.get(it.address)?.pending.some(({ album }) => album === albumIdOf(message));
    const hasWaited = (it.inAlbum && row.notBefore !== null) || isBegun;
    if (content.kind === 'album' && !hasWaited && this.albums.has(albumOf(it))) return { verdict: 'empty' };
    const changes = content.kind === 'edit' || content.kind === 'sealed_edit' || content.kind === 'revoke';
    if (changes && (await this.precedes(it, content.target))) return { until: Date.now() + AGAIN_MS };
    const limited = this.limited(it);
    if (limited) {
      if (limited.tell)
        await this.respond(it.address, '[many messages at once]', (say) => say('limit.burst'), `limit/${row.seq}`);
      return { until: limited.until };
    }
    if (decides) await this.decide(it, decides);
    else if (changes) await this.change(it, content);
    else if (content.kind === 'nothing') await this.askToRepeat(it);
    else if (content.kind === 'unreadable') await this.cannotRead(it, content.say);
    else await this.batch(it);
    return null;
  }

  /** A message that stayed unreadable although WhatsApp was asked for it again, where everything is for us. */
  private async askToRepeat(it: Admitted): Promise<void> {
    if (it.role !== 'owner') await this.tellUnreadable(it.message);
    await this.cannotRead(it, 'kind.unreadable');
  }

  private async cannotRead({ row, message, address }: Admitted, why: Unread | 'kind.unreadable'): Promise<void> {
    await this.respond(
      address,
      '[a message that could not be read]',
      (say) => say(why),
      `${idOf(message)}/stub`,
      row.seq,
    );
  }

  /** Tells the owner of an unreadable message of somebody who may write: once an hour for each author and chat. */
  private async tellUnreadable({ key, chat, name, at }: Incoming): Promise<void> {
    const { db, account, config } = this.deps;
    const group = chat.kind === 'group' ? await findGroup(db, account, chat.jid) : null;
    const hour = Math.floor(at.getTime() / HOUR);
    const about = createHash('sha256').update(JSON.stringify([key.chat, key.participant, key.fromMe, hour]));
    await tellOwner(
      db,
      `unreadable-${about.digest('hex').slice(0, 20)}`,
      (say) => {
        const named = inline(group?.metadata.subject ?? say('kind.aGroup'), 80);
        const where = chat.kind === 'group' ? say('kind.where', { group: named }) : '';
        return key.fromMe
          ? say('kind.own', { where })
          : say('kind.others', { who: inline(name ?? say('kind.somebody'), 60), where });
      },
      config.OWNER_PHONE_NUMBER?.split(',')[0] ?? null,
    );
  }

  /** What is said in a registered group and not to us, which the next answer there reads. */
  private async noteTalk(message: Incoming, verdict: string, self: Self): Promise<void> {
    const { db, config } = this.deps;
    const { chat, key, content, author, name, at } = message;
    if (chat.kind !== 'group' || !['not_addressed', 'owner_typed', 'stranger'].includes(verdict)) return;
    const group = await groupAt(db, 'whatsapp', chat.jid);
    if (!group?.chat_id || !isAnswered(group)) return;
    const chatId = group.chat_id;
    if (content.kind === 'edit' || content.kind === 'revoke')
      return await amendTalk(
        db,
        chatId,
        idOf({ ...message, key: { ...key, messageId: content.target } }),
        content.kind === 'edit' ? content.text : null,
      );
    const body = spokenIn(content);
    if (body === '') return;
    const owner = roleOf(author, self.people) === 'owner';
    await noteTalk(db, {
      chatId,
      key: idOf(message),
      author: owner ? (config.FETCH_USER_NAME ?? name ?? 'The owner') : (name ?? 'A member'),
      owner,
      person: idOfPerson(author),
      body,
      saidAt: at,
    });
  }

  /** A failed row is retried later and later, and never given up: it is somebody's message. */
  async failed(row: Waiting, error: unknown): Promise<null> {
    const { db, log } = this.deps;
    log.error(
      { seq: row.seq, attempts: row.attempts + 1, reason: (error as Error).message },
      'a WhatsApp message could not be handled; it is tried again',
    );
    await putOff(
      db,
      [row.seq],
      new Date(Date.now() + Math.min(FAILED_MS * 2 ** row.attempts, FAILED_LONGEST_MS)),
      true,
    );
    return null;
  }

  /** What a reaction or vote decides; null for other messages. */
  private async interpretation({ message, self, address }: Admitted): Promise<Interpretation | null> {
    const { content, chat } = message;
    if (content.kind === 'reaction') return await interpretReaction(this.deps, content, [address, chat.jid]);
    if (content.kind === 'vote') return await interpretVote(this.deps, message, content, self, [address, chat.jid]);
    return null;
  }

  /** When a message over the rate limit may run, and whether to tell its author; null: it is accepted now. */
  private limited(it: Admitted): { until: number; tell: boolean } | null {
    const { message, text, address, ofOthers, old, late } = it;
    // an album counts as one message
    if (message.album !== null && this.expected(it)) return null;
    const writer = message.author.lid ?? message.author.pn ?? '';
    const isStop = message.content.kind === 'revoke' || (ofOthers === null && parseCommand(text) === 'stop');
    if (
      old ||
      (late && this.batchers.get(address)?.hasLate) ||
      (isStop && this.stops.check(writer, Date.now()).admitted)
    )
      return null;
    const limited = late ? this.limiter.checkHeld(writer) : this.limiter.check(writer, message.at.getTime());
    return limited.admitted ? null : limited;
  }

  /** Whether an announced album still expects this picture. A picture before its album is noted. */
  private expected(it: Admitted): boolean {
    const left = this.albums.get(albumOf(it)) ?? 0;
    this.albums.set(albumOf(it), Math.max(0, left - 1));
    return left > 0;
  }

  private async decide(
    { row, message, by, approver, address }: Admitted,
    { threadId, text, questionId }: Decision,
  ): Promise<void> {
    const also = (tx: Tx, inboxId: string, kind: string) => markHandled(tx, [row.seq], kind, inboxId);
    await this.deps.intake.say({
      threadId: threadId ?? (await this.directory.threadOf(address)),
      text,
      questionId,
      channelMessageId: idOf(message),
      approver,
      writers: [by],
      also,
    });
  }

  /** Whether an edit or a deletion came before its message, which may still come. */
  private async precedes({ row }: Admitted, target: string): Promise<boolean> {
    const known = await received(this.deps.db, this.deps.account, target);
    const patience = known.length > 0 ? RESENT_WITHIN_MS : FOLLOWS_WITHIN_MS;
    return known.every(({ content }) => content === null) && Date.now() - row.receivedAt.getTime() < patience;
  }

  /** Carries out an edit or a deletion. */
  private async change(
    { row, message, self, address }: Admitted,
    content: Extract<Content, { kind: 'edit' | 'sealed_edit' | 'revoke' }>,
  ): Promise<void> {
    const outcome = await amend(this.deps, row.seq, message, content, self);
    // the owner, or somebody who may call, has changed what was not for us
    await this.noteTalk(message, 'not_addressed', self);
    if (outcome.kind === 'waiting') this.batchers.get(address)?.remove(outcome.seq);
    if (outcome.kind !== 'emptied') return;
    const { threadId, turnId } = outcome;
    await this.deps.intake.interrupt({ threadId, turnId, channelMessageId: idOf(message) }).catch((error) => {
      // it ended by itself meanwhile
      if (!(error instanceof IntakeError)) throw error;
    });
  }

  private async batch(it: Admitted): Promise<void> {
    if (it.message.content.kind === 'album') this.albums.set(albumOf(it), it.message.content.expects);
    // the other parts waited for a caption that calls us
    if (it.message.album !== null && !it.inAlbum) await endDelays(this.deps.db, it.row);
    const threadId = await this.directory.threadOf(it.address);
    const batcher = this.batchers.get(it.address) ?? this.newBatcher(it.address, threadId);
    this.batchers.set(it.address, batcher);
    batcher.add(this.preparer.pendingOf(it, threadId));
  }

  private newBatcher(address: string, threadId: string): ChatBatcher {
    const { db, intake, config } = this.deps;
    const shownChars = shownOfMessage(config.FETCH_CONTEXT_TOKENS);
    return new ChatBatcher({
      db,
      intake,
      threadId,
      channel: 'whatsapp',
      shownChars,
      tells: () => this.tells(address),
      markHandled,
    });
  }

  /** Once for each backlog, even if it comes in several bursts. */
  private tells(address: string): boolean {
    const now = Date.now();
    if (now - (this.toldParts.get(address) ?? 0) < TOLD_FOR_MS) return false;
    this.toldParts.set(address, now);
    return true;
  }

  private async respond(
    address: string,
    said: string,
    body: AnsweredMessage['body'],
    channelMessageId: string,
    seq?: number,
  ): Promise<void> {
    await this.respondIn(await this.directory.threadOf(address), said, body, channelMessageId, seq);
  }

  private async respondIn(
    threadId: string,
    said: string,
    body: AnsweredMessage['body'],
    channelMessageId: string,
    seq?: number,
  ): Promise<void> {
    const also = (tx: Tx, inboxId: string) => markHandled(tx, seq === undefined ? [] : [seq], 'told', inboxId);
    await this.deps.intake.respond({ threadId, said, body, channelMessageId, also });
  }
}
