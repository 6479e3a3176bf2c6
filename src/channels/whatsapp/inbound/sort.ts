import type { Identity } from '../../../contracts/decision.ts';
import { OLD_AFTER_MS } from '../../../domain/chat/burst.ts';
import { parseCommand } from '../../../domain/chat/commands.ts';
import { shownOfMessage } from '../../../domain/chat/context.ts';
import { type Approver, type Intake, IntakeError } from '../../../intake/intake.ts';
import { attachmentId } from '../../../store/chats/attachments.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { countAttempt, markHandled, type OurMessage, ourMessage, putOff, type Waiting } from '../../../store/whatsapp/inbox.ts';
import { markAccepted } from '../../../store/whatsapp/sends.ts';
import { AttachmentReader, type Prepared } from '../../shared/attachments.ts';
import { ChatBatcher } from '../../shared/batcher.ts';
import type { PendingMessage } from '../../shared/pending.ts';
import { createLimiter } from '../../shared/rate-limit.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { admit } from './admit.ts';
import { amend } from './amend.ts';
import { approverOf } from './approver.ts';
import { type Content, decodeRow, type Incoming, idOf, writtenAt } from './decode.ts';
import { ChatDirectory } from './directory.ts';
import { loadMedia, mediaProblemText } from './download.ts';
import { bothForms, identityOf, type Role, roleIn, type Self } from './identify.ts';
import { type Decision, type Interpretation, interpretReaction, interpretVote } from './interpret.ts';

export interface SortDeps extends WhatsAppDeps {
  intake: Intake;
  live: CurrentLive;
  /** a file is loaded, or will not come */
  onPrepared(): void;
}

/** How long an author waits whose number only WhatsApp knows, until the next attempt. */
const UNKNOWN_MS = 5_000;
const STOPS_PER_MINUTE = 5;
/** A file that was begun this often and never finished is stored unopened, because it may kill the process. */
const GIVEN_UP_AFTER = 3;
const TOLD_FOR_MS = 10 * 60_000;
const FAILED_MS = 5_000;
const FAILED_LONGEST_MS = 3_600_000;

const UNREADABLE = 'A message from you reached me, but I could not read it. Please send it again.';
const TOO_MANY = 'That is a lot at once. I read what came first now and the rest in about a minute; nothing is lost.';

/** What the caller does with a row: end it with the verdict, or delay it (`until` in ms since the epoch). Null: it was handled, or is pending in its chat. */
export type Sorted = { verdict: string } | { until: number } | null;

/** A message for us, with what is known about it. */
interface Admitted {
  row: Waiting;
  message: Incoming;
  self: Self;
  role: Role;
  /** the part of its text that is meant for us */
  text: string;
  /** our message that it quotes */
  quoted: OurMessage | undefined;
  address: string;
  /** the author, in a group */
  author: string | null;
  by: Identity;
  approver: Approver | undefined;
  old: boolean;
  /** was delayed before because it was over the limit or its author was unknown, and not after a failure */
  late: boolean;
}

/** Decides for each row what it is and for which chat, and gives messages for us to the batcher of their chat. */
export class Sorter {
  /** batchers with messages, by the address of their chat */
  readonly batchers = new Map<string, ChatBatcher>();
  private readonly deps: SortDeps;
  private readonly directory: ChatDirectory;
  private readonly attachments: AttachmentReader;
  private readonly limiter: ReturnType<typeof createLimiter>;
  /** a person who wrote too much must still be able to stop the result */
  private readonly stops = createLimiter(STOPS_PER_MINUTE);
  private readonly stopping = new AbortController();
  /** when chats were last told that much is read in parts */
  private readonly toldParts = new Map<string, number>();

  constructor(deps: SortDeps) {
    this.deps = deps;
    this.directory = new ChatDirectory(deps);
    this.attachments = new AttachmentReader({ ...deps, problemText: mediaProblemText });
    this.limiter = createLimiter(deps.config.WHATSAPP_RATE_LIMIT);
  }

  /** Cancels loading; the messages stay in the table. */
  stop(): void {
    this.stopping.abort();
  }

  async sort(row: Waiting, self: Self): Promise<Sorted> {
    const message = await decodeRow(row, self);
    const { content } = message;
    if (content.kind === 'nothing' && content.why !== 'stub') return { verdict: content.why };
    const it = await this.admitted(row, message, self);
    if ('verdict' in it || 'until' in it) return it;
    const decides = await this.interpretation(it);
    if (decides && 'verdict' in decides) return decides;
    const limited = this.limited(it);
    if (limited) {
      if (limited.tell) await this.respond(it.address, '[many messages at once]', TOO_MANY, `limit/${row.seq}`);
      return { until: limited.until };
    }
    if (decides) await this.decide(it, decides);
    else if (content.kind === 'edit' || content.kind === 'revoke') await this.change(it, content);
    else if (content.kind === 'nothing') await this.respond(it.address, '[a message that could not be read]', UNREADABLE, `${idOf(message)}/stub`, row.seq);
    else await this.batch(it);
    return null;
  }

  /** A failed row is retried later and later, and never given up: it is somebody's message. */
  async failed(row: Waiting, error: unknown): Promise<null> {
    const { db, log } = this.deps;
    log.error({ seq: row.seq, attempts: row.attempts + 1, reason: (error as Error).message }, 'a WhatsApp message could not be handled; it is tried again');
    await putOff(db, [row.seq], new Date(Date.now() + Math.min(FAILED_MS * 2 ** row.attempts, FAILED_LONGEST_MS)), true);
    return null;
  }

  /** The author of a message, and whether it is for us. */
  private async admitted(row: Waiting, message: Incoming, self: Self): Promise<Admitted | NonNullable<Sorted>> {
    const { db, account, config } = this.deps;
    const { key, chat } = message;
    const forms = await bothForms(this.deps, message.author);
    if (!forms) return { until: Date.now() + UNKNOWN_MS };
    message.author = forms;
    const role = roleIn(self.people, forms);
    const quoted = role !== 'stranger' && message.quoted ? await ourMessage(db, account, message.quoted.id) : undefined;
    const echo = key.fromMe && (await ourMessage(db, account, key.messageId)) !== undefined;
    const admission = admit(message, { role, self, echo, quotesUs: quoted !== undefined, trigger: config.FETCH_TRIGGER });
    // WhatsApp shows us our own message, so it has it, even if its ack was lost
    if (echo) await markAccepted(db, account, [key.messageId]);
    if (!admission.admitted) return { verdict: admission.verdict };
    const { address, author } = await this.directory.placeOf(message);
    const approver = chat.kind === 'group' ? approverOf(this.deps, message, role === 'owner') : undefined;
    const old = Date.now() - message.at.getTime() > OLD_AFTER_MS;
    const late = !old && row.notBefore !== null && row.attempts === 0;
    return { row, message, self, role, text: admission.text, quoted, address, author, by: identityOf(role, forms), approver, old, late };
  }

  /** What a reaction or vote decides; null for other messages. */
  private async interpretation({ message, self, address }: Admitted): Promise<Interpretation | null> {
    const { content, chat } = message;
    if (content.kind === 'reaction') return await interpretReaction(this.deps, content, [address, chat.jid]);
    if (content.kind === 'vote') return await interpretVote(this.deps, message, content, self, [address, chat.jid]);
    return null;
  }

  /** Until when a message over the limit waits, and whether to say so; null: it is accepted now. */
  private limited({ message, text, address, old, late }: Admitted): { until: number; tell: boolean } | null {
    const writer = message.author.lid ?? message.author.pn ?? '';
    const isStop = message.content.kind === 'revoke' || parseCommand(text) === 'stop';
    if (old || (late && this.batchers.get(address)?.hasLate) || (isStop && this.stops.check(writer, Date.now()).admitted)) return null;
    const limited = late ? this.limiter.checkHeld(writer) : this.limiter.check(writer, message.at.getTime());
    return limited.admitted ? null : limited;
  }

  private async decide({ row, message, by, approver }: Admitted, { threadId, text, questionId }: Decision): Promise<void> {
    const also = (tx: Tx, inboxId: string, kind: string) => markHandled(tx, [row.seq], kind, inboxId);
    await this.deps.intake.say({ threadId, text, questionId, channelMessageId: idOf(message), approver, writers: [by], also });
  }

  /** Carries out an edit or a deletion. */
  private async change({ row, message, self, address }: Admitted, content: Extract<Content, { kind: 'edit' | 'revoke' }>): Promise<void> {
    const outcome = await amend(this.deps, row.seq, message, content, self);
    if (outcome.kind === 'waiting') this.batchers.get(address)?.remove(outcome.seq);
    if (outcome.kind !== 'emptied') return;
    const { threadId, turnId } = outcome;
    await this.deps.intake.interrupt({ threadId, turnId, channelMessageId: idOf(message) }).catch((error) => {
      // it ended by itself meanwhile
      if (!(error instanceof IntakeError)) throw error;
    });
  }

  private async batch(it: Admitted): Promise<void> {
    const threadId = await this.directory.threadOf(it.address);
    const batcher = this.batchers.get(it.address) ?? this.newBatcher(it.address, threadId);
    this.batchers.set(it.address, batcher);
    batcher.add(this.pendingOf(it, threadId));
  }

  private newBatcher(address: string, threadId: string): ChatBatcher {
    const { db, intake, config } = this.deps;
    const shownChars = shownOfMessage(config.FETCH_CONTEXT_TOKENS);
    return new ChatBatcher({ db, intake, threadId, channel: 'whatsapp', shownChars, tells: () => this.tells(address), markHandled });
  }

  /** Once for each backlog, even if it comes in several bursts. */
  private tells(address: string): boolean {
    const now = Date.now();
    if (now - (this.toldParts.get(address) ?? 0) < TOLD_FOR_MS) return false;
    this.toldParts.set(address, now);
    return true;
  }

  /** The message as it waits in its chat, while its file is loaded. */
  private pendingOf(it: Admitted, threadId: string): PendingMessage {
    const { row, message, author, by, approver, text, old, late, quoted, address } = it;
    const given = new AbortController();
    const pending: PendingMessage = {
      seq: row.seq,
      id: idOf(message),
      chat: message.key.chat,
      author,
      name: message.name,
      by,
      approver,
      text,
      quoted: message.quoted?.text ?? null,
      bare: message.content.kind === 'text',
      questionId: questionOf(quoted, address, text),
      sentAt: message.at,
      writtenAt: writtenAt(message),
      at: Date.now(),
      old,
      late,
      prepared: message.content.kind === 'media' ? null : { text, attachmentIds: [], tell: null },
      drop: () => given.abort(),
    };
    if (message.content.kind === 'media') {
      const signal = AbortSignal.any([given.signal, this.stopping.signal]);
      this.prepare(it, threadId, message.content, signal)
        .then(
          (prepared) => {
            pending.prepared = prepared;
          },
          async (error) => {
            if (signal.aborted) return;
            for (const batcher of this.batchers.values()) batcher.remove(row.seq);
            await this.failed(row, error);
          },
        )
        .catch(() => {})
        .finally(this.deps.onPrepared);
    }
    return pending;
  }

  private async prepare(
    { row, message, text }: Admitted,
    threadId: string,
    content: Extract<Content, { kind: 'media' }>,
    signal: AbortSignal,
  ): Promise<Prepared> {
    const { db, config, live } = this.deps;
    const { key } = message;
    await countAttempt(db, row.seq);
    return await this.attachments.prepare(
      {
        id: attachmentId(key.account, key.chat, key.participant, String(key.fromMe), key.messageId),
        threadId,
        text,
        file: content.media,
        unopened: row.attempts >= GIVEN_UP_AFTER,
        load: (loading) => loadMedia(content.media, { key, content: content.message }, { host: config.WA_MEDIA_HOST, signal: loading, live }),
        onLongRecording: (seconds) => this.respondIn(threadId, '[a voice note]', listeningFor(seconds), `${idOf(message)}/listening`),
      },
      signal,
    );
  }

  private async respond(address: string, said: string, body: string, channelMessageId: string, seq?: number): Promise<void> {
    await this.respondIn(await this.directory.threadOf(address), said, body, channelMessageId, seq);
  }

  private async respondIn(threadId: string, said: string, body: string, channelMessageId: string, seq?: number): Promise<void> {
    const also = (tx: Tx, inboxId: string) => markHandled(tx, seq === undefined ? [] : [seq], 'told', inboxId);
    await this.deps.intake.respond({ threadId, said, body, channelMessageId, also });
  }
}

/** The open question that a quote answers. Words such as "stop" keep their meaning in a quote. */
function questionOf(quoted: OurMessage | undefined, address: string, text: string): string | null {
  const command = parseCommand(text);
  if (!quoted?.question?.open || quoted.address !== address || command === 'stop' || command === 'status' || command === 'help') return null;
  return quoted.question.id;
}

const listeningFor = (seconds: number): string =>
  `Listening to your voice note (${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')} min) …`;
