import type { Identity } from '../../../contracts/decision.ts';
import { parseCommand } from '../../../domain/chat/commands.ts';
import { shownOfMessage } from '../../../domain/chat/context.ts';
import { OLD_AFTER_MS } from '../../../domain/whatsapp/burst.ts';
import { type Approver, type Intake, IntakeError } from '../../../intake/intake.ts';
import { type Contact, keepContact } from '../../../store/whatsapp/contacts.ts';
import { countAttempt, markHandled, type OurMessage, ourMessage, putOff, type Waiting } from '../../../store/whatsapp/inbox.ts';
import { markAccepted } from '../../../store/whatsapp/sends.ts';
import { createLimiter } from '../../shared/rate-limit.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { admit } from './admit.ts';
import { amend } from './amend.ts';
import { approverOf } from './approver.ts';
import { Desk, idOf, type Pending } from './batcher.ts';
import { decodeRow, type Incoming } from './decode.ts';
import { createPreparer } from './files/prepare.ts';
import { bothForms, identityOf, roleIn, type Self } from './identify.ts';
import { type Decision, interpretReaction, interpretVote } from './interpret.ts';

export interface SortDeps extends WhatsAppDeps {
  intake: Intake;
  live: CurrentLive;
  /** a file that was waited for is there, or will not come */
  onPrepared(): void;
}

/** An author whose number only WhatsApp can tell waits for a connection in steps of this. */
const UNKNOWN_MS = 5_000;
const CONTACT_MS = 3_000;
const STOPS_PER_MINUTE = 5;
/** A file that was begun this often, and never ended, is kept unopened: it may be what kills the process. */
const GIVEN_UP_AFTER = 3;
const TOLD_FOR_MS = 10 * 60_000;
const FAILED_MS = 5_000;
const FAILED_LONGEST_MS = 3_600_000;

const UNREADABLE = 'A message from you reached me, but I could not read it. Please send it again.';
const TOO_MANY = 'That is a lot at once. I read what came first now and the rest in about a minute; nothing is lost.';

/** `until` in ms since the epoch. */
export type Sorted = { verdict: string } | { until: number } | null;

/** Decides about each row what it is and for which chat, and puts what is for us on the desk of its chat. */
export function createSorter(deps: SortDeps) {
  const { db, account, config, log, intake } = deps;
  const prepare = createPreparer(deps);
  const limiter = createLimiter(config.WHATSAPP_RATE_LIMIT);
  // who wrote too much must still be able to stop what came of it
  const stops = createLimiter(STOPS_PER_MINUTE);
  const desks = new Map<string, Desk>();
  const stopping = new AbortController();
  const threads = new Map<string, string>();
  /** when chats were told that much is read in parts */
  const toldParts = new Map<string, number>();
  const recent = new Map<string, { contact: Promise<Contact>; until: number }>();

  /** The contact of a message, as it was some seconds ago at most: a flood does not write the same row over and over. */
  function contactOf(person: Parameters<typeof keepContact>[2]): Promise<Contact> {
    const key = JSON.stringify([person.lid, person.pn, person.name, person.replyJid]);
    const known = recent.get(key);
    if (known && Date.now() < known.until) return known.contact;
    if (recent.size > 500) recent.clear();
    const contact = keepContact(db, account, person);
    recent.set(key, { contact, until: Date.now() + CONTACT_MS });
    contact.catch(() => recent.delete(key));
    return contact;
  }

  /** What a row is. The caller ends it with the verdict or puts it off; null when it was handled or lies on a desk. */
  async function sort(row: Waiting, self: Self): Promise<Sorted> {
    const message = await decodeRow(row, self);
    const { content, chat, key } = message;
    if (content.kind === 'nothing' && content.why !== 'stub') return { verdict: content.why };
    const forms = await bothForms(deps, message.author);
    if (!forms) return { until: Date.now() + UNKNOWN_MS };
    message.author = forms;
    const role = roleIn(self.people, forms);
    const quoted = role !== 'stranger' && message.quoted ? await ourMessage(db, account, message.quoted.id) : undefined;
    const echo = key.fromMe && (await ourMessage(db, account, key.messageId)) !== undefined;
    const admission = admit(message, { role, self, echo, quotesUs: quoted !== undefined, trigger: config.FETCH_TRIGGER });
    // WhatsApp shows us our own message: it has it, whatever became of its ack
    if (echo) await markAccepted(db, account, [key.messageId]);
    if (!admission.admitted) return { verdict: admission.verdict };

    const { address, author } = await placeOf(message);
    const approver = chat.kind === 'group' ? approverOf(deps, message, role === 'owner') : undefined;
    const decides =
      content.kind === 'reaction'
        ? await interpretReaction(deps, content, [address, chat.jid])
        : content.kind === 'vote'
          ? await interpretVote(deps, message, content, self, [address, chat.jid])
          : null;
    if (decides && 'verdict' in decides) return decides;

    const old = Date.now() - message.at.getTime() > OLD_AFTER_MS;
    // put off before, and not because of a failure: it was over the limit, or nobody knew whose it was
    const late = !old && row.notBefore !== null && row.attempts === 0;
    const writer = forms.lid ?? forms.pn ?? '';
    const isStop = content.kind === 'revoke' || parseCommand(admission.text) === 'stop';
    const free = old || (late && desks.get(address)?.hasLate) || (isStop && stops.check(writer, Date.now()).admitted);
    const limited = free ? null : late ? limiter.checkHeld(writer) : limiter.check(writer, message.at.getTime());
    if (limited && !limited.admitted) {
      if (limited.tell) await respond(await threadOf(address), '[many messages at once]', TOO_MANY, `limit/${row.seq}`);
      return { until: limited.until };
    }
    const by = identityOf(role, forms);
    if (decides) return await decide(row, message, decides, by, approver);
    if (content.kind === 'edit' || content.kind === 'revoke') {
      const outcome = await amend(deps, row.seq, message, content, self);
      if (outcome.kind === 'waiting') desks.get(address)?.remove(outcome.seq);
      if (outcome.kind === 'emptied') await interrupt(outcome, message);
      return null;
    }
    if (content.kind === 'nothing') {
      await respond(await threadOf(address), '[a message that could not be read]', UNREADABLE, `${idOf(message)}/stub`, row.seq);
      return null;
    }
    const threadId = await threadOf(address);
    const desk = desks.get(address) ?? new Desk({ db, intake, threadId, shownChars: shownOfMessage(config.FETCH_CONTEXT_TOKENS), tells: () => tells(address) });
    desks.set(address, desk);
    const questionId = questionOf(quoted, address, admission.text);
    desk.add(pendingOf(row, message, { threadId, author, by, approver, text: admission.text, old, late, questionId }));
    return null;
  }

  /** Once for a backlog, also when it comes in several bursts. */
  function tells(address: string): boolean {
    const now = Date.now();
    if (now - (toldParts.get(address) ?? 0) < TOLD_FOR_MS) return false;
    toldParts.set(address, now);
    return true;
  }

  /** The thread of a chat never changes, so it is looked up once. */
  async function threadOf(address: string): Promise<string> {
    const known = threads.get(address);
    if (known) return known;
    const { id } = await intake.channelThread('whatsapp', address);
    threads.set(address, id);
    return id;
  }

  /** The chat of a message, and who wrote it where several people write. */
  async function placeOf({ chat, author, name, key }: Incoming): Promise<{ address: string; author: string | null }> {
    if (chat.kind === 'group') {
      if (key.fromMe) return { address: chat.jid, author: config.FETCH_USER_NAME ?? 'The owner' };
      const contact = await contactOf({ ...author, name, replyJid: null });
      return { address: chat.jid, author: contact.name ?? 'A member' };
    }
    const forms = key.fromMe ? ((await bothForms(deps, chat.forms)) ?? chat.forms) : author;
    const contact = await contactOf({ ...forms, name: key.fromMe ? null : name, replyJid: chat.jid });
    return { address: contact.chatAddress, author: null };
  }

  async function decide(row: Waiting, message: Incoming, what: Decision, by: Identity, approver: Approver | undefined): Promise<Sorted> {
    const also = (tx: Parameters<typeof markHandled>[0], inboxId: string, kind: string) => markHandled(tx, [row.seq], kind, inboxId);
    const { threadId, text, questionId } = what;
    await intake.say({ threadId, text, questionId, channelMessageId: idOf(message), approver, writers: [by], also });
    return null;
  }

  function pendingOf(
    row: Waiting,
    message: Incoming,
    what: Pick<Pending, 'author' | 'by' | 'approver' | 'text' | 'old' | 'late' | 'questionId'> & { threadId: string },
  ): Pending {
    const { threadId, ...rest } = what;
    const { content, key } = message;
    const base = { seq: row.seq, message, at: Date.now(), ...rest };
    if (content.kind !== 'media') return { ...base, prepared: { text: what.text, attachmentIds: [], tell: null }, drop: () => {} };
    const given = new AbortController();
    const pending: Pending = { ...base, prepared: null, drop: () => given.abort() };
    const onLongRecording = (seconds: number) => respond(threadId, '[a voice note]', listeningFor(seconds), `${idOf(message)}/listening`);
    const signal = AbortSignal.any([given.signal, stopping.signal]);
    const hopeless = row.attempts >= GIVEN_UP_AFTER;
    countAttempt(db, row.seq)
      .then(() => prepare({ key, threadId, text: what.text, content, onLongRecording, unopened: hopeless }, signal))
      .then(
        (prepared) => {
          pending.prepared = prepared;
        },
        async (error) => {
          if (signal.aborted) return;
          for (const desk of desks.values()) desk.remove(row.seq);
          await failed(row, error);
        },
      )
      .catch(() => {})
      .finally(deps.onPrepared);
    return pending;
  }

  async function respond(threadId: string, said: string, body: string, channelMessageId: string, seq?: number): Promise<void> {
    const also = (tx: Parameters<typeof markHandled>[0], inboxId: string) => markHandled(tx, seq === undefined ? [] : [seq], 'told', inboxId);
    await intake.respond({ threadId, said, body, channelMessageId, also });
  }

  async function interrupt({ threadId, turnId }: { threadId: string; turnId: string }, message: Incoming): Promise<void> {
    await intake.interrupt({ threadId, turnId, channelMessageId: idOf(message) }).catch((error) => {
      // it ended by itself meanwhile
      if (!(error instanceof IntakeError)) throw error;
    });
  }

  /** A row that could not be handled is tried again, later each time, and never given up: it holds somebody's message. */
  async function failed(row: Waiting, error: unknown): Promise<null> {
    log.error({ seq: row.seq, attempts: row.attempts + 1, reason: (error as Error).message }, 'a WhatsApp message could not be handled; it is tried again');
    await putOff(db, [row.seq], new Date(Date.now() + Math.min(FAILED_MS * 2 ** row.attempts, FAILED_LONGEST_MS)), true);
    return null;
  }

  return { sort, failed, desks, stop: () => stopping.abort() };
}

/** The open question that a quote answers. Words such as "stop" mean the same wherever they are written. */
function questionOf(quoted: OurMessage | undefined, address: string, text: string): string | null {
  const command = parseCommand(text);
  if (!quoted?.question?.open || quoted.address !== address || command === 'stop' || command === 'status' || command === 'help') return null;
  return quoted.question.id;
}

const listeningFor = (seconds: number): string =>
  `Listening to your voice note (${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')} min) …`;
