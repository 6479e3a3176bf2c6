import type { GroupMetadata, proto } from '@whiskeysockets/baileys';
import { english, type Told } from '../../../../domain/texts/say.ts';
import { DAY, HOUR, MINUTE } from '../../../../domain/time.ts';
import { canonicalUser, isGroup } from '../../../../domain/whatsapp/identity.ts';
import { chatPause, pauseChat, pauseSends, sendPause } from '../../../../store/whatsapp/pause.ts';
import { beginAttempt, hasLostAttempt, markAccepted, type Send } from '../../../../store/whatsapp/sends.ts';
import { ChannelAway } from '../../channel.ts';
import { withoutSecrets } from '../library/silence.ts';
import type { Live, WhatsAppDeps } from '../live.ts';
import { isClosed, listenForAnswer, type ServerAnswer } from './ack.ts';
import { relayExtras } from './encode.ts';
import { abandon, tell } from './problems.ts';

const DEADLINE_MS = 45_000;
/** Unanswered sends in a row after which the process ends. */
const STUCK_AFTER = 2;
/**
 * Failures that are not the connection's, after which a message is given up, so that it does not block its chat for
 * ever.
 */
const MOST_FAILURES = 8;
const MOST_UNANSWERED = 12;

/** How long nothing is sent to a chat whose recipient was refused, at most. */
const CHAT_PAUSE_MS = HOUR;
/** When this many chats refuse within that time, the account is the problem and not one person. */
const REFUSED_CHATS = 3;

/** How soon a message that waits notices that its chat goes on. */
const CHECK_MS = 5_000;

/** One attempt at one part of a message: its number, and its connection. */
interface Attempt {
  send: Send;
  count: number;
  live: Live;
  signal: AbortSignal;
}

interface PartDeps extends WhatsAppDeps {
  /** the members of a group, as WhatsApp last said */
  groupOf?: (jid: string) => Promise<GroupMetadata | undefined>;
  /** called when the socket is open but the server no longer answers sends; only a new process helps */
  stuck?: (why: string) => void;
  /** how long the server may take to answer a send */
  deadlineMs?: number;
}

/** Sends the parts of an account's messages, and pauses it or a chat when WhatsApp refuses one. */
export class PartSender {
  private readonly deps: PartDeps;
  /** sends in a row without an answer from the server */
  private unansweredInARow = 0;
  /** groups whose latest message arrived with its keys */
  private readonly keyed = new Set<string>();

  constructor(deps: PartDeps) {
    this.deps = deps;
  }

  /** @throws ChannelAway while nothing may be sent, or nothing to this chat */
  async unlessPaused(jid: string | null): Promise<void> {
    const { db, account } = this.deps;
    const stopped = jid === null ? await sendPause(db, account) : await chatPause(db, account, jid);
    // a pause may end early
    if (stopped)
      throw new ChannelAway(stopped.why, Math.min(CHECK_MS, Math.max(1000, stopped.until.getTime() - Date.now())));
  }

  /**
   * One attempt at one part. `false` when this part and those behind it will not be sent. @throws ChannelAway when the
   * part must be tried again
   */
  async send(send: Send, live: Live, signal: AbortSignal): Promise<boolean> {
    const { db, account } = this.deps;
    if (!(await beginAttempt(db, send.messageId))) return true;
    const attempt: Attempt = { send, count: send.attempts + 1, live, signal };
    await this.refreshGroupKeys(attempt);
    let answer: ServerAnswer;
    try {
      answer = await this.answerTo(attempt);
    } catch (error) {
      if (live.closed.aborted || isClosed(error))
        throw new ChannelAway('The connection to WhatsApp closed during a send.', 500);
      const reason = withoutSecrets((error as Error).message);
      if (attempt.count < MOST_FAILURES)
        throw new ChannelAway(`A message could not be sent: ${reason}`, 1000 * attempt.count);
      const { count } = attempt;
      await abandon(this.deps, send.outboxId, (say) => say('because.notSent', { count, words: reason }));
      return false;
    }
    switch (answer.kind) {
      case 'accepted':
        this.unansweredInARow = 0;
        await markAccepted(db, account, [send.messageId], answer.at);
        if (isGroup(send.jid)) this.keyed.add(send.jid);
        return true;
      case 'closed':
        throw new ChannelAway(
          'The connection to WhatsApp closed before a message was acknowledged; it is sent again under the same id.',
          500,
        );
      case 'late':
        return await this.unanswered(attempt);
      case 'refused':
        return await this.refused(attempt, answer.code);
    }
  }

  /**
   * Baileys records who got the keys of a group before they are sent. Keys that went with a lost attempt, of any message,
   * may never have arrived. Keys that somebody has who is no longer in the group are replaced.
   */
  private async refreshGroupKeys({ send, count, live }: Attempt): Promise<void> {
    const { jid } = send;
    if (isGroup(jid)) {
      if (await this.hasLeaver(jid, live)) await renewKeys(jid, live);
      else if (count > 1 || (!this.keyed.has(jid) && (await hasLostAttempt(this.deps.db, send))))
        await forgetKeyed(jid, live);
    }
    this.keyed.delete(jid);
  }

  /** Whether somebody has the keys of a group and is not in it. */
  private async hasLeaver(jid: string, { sock, me }: Live): Promise<boolean> {
    const { [jid]: keyed } = await sock.authState.keys.get('sender-key-memory', [jid]);
    const group = keyed && (await this.deps.groupOf?.(jid));
    if (!group) return false;
    const members = new Set(
      [me.jid, me.lid, ...group.participants.flatMap(({ id, phoneNumber, lid }) => [id, phoneNumber, lid])].flatMap(
        (each) => (each ? [canonicalUser(each)] : []),
      ),
    );
    return Object.keys(keyed).some((device) => !members.has(canonicalUser(device)));
  }

  /**
   * The server's answer to a message. If it says that our device list is outdated, the message is sent again with a fresh
   * one.
   */
  private async answerTo(attempt: Attempt): Promise<ServerAnswer> {
    const { proto } = await import('@whiskeysockets/baileys');
    const { send, count, live } = attempt;
    const message = proto.Message.decode(send.content);
    const answer = await this.relay(attempt, message, false);
    if (answer.kind !== 'refused' || refusalOf(answer.code, count).kind !== 'devices') return answer;
    await live.sock.userDevicesCache?.del(canonicalUser(send.jid).split('@')[0]!);
    if (isGroup(send.jid)) await forgetKeyed(send.jid, live);
    return await this.relay(attempt, message, true);
  }

  private async relay({ send, live, signal }: Attempt, message: proto.IMessage, fresh: boolean): Promise<ServerAnswer> {
    const heard = listenForAnswer(live, send.messageId, this.deps.deadlineMs ?? DEADLINE_MS, signal);
    try {
      const sent = live.sock.relayMessage(send.jid, message, {
        messageId: send.messageId,
        ...(fresh && { useUserDevicesCache: false, useCachedGroupMetadata: false }),
        ...relayExtras(message),
      });
      // the first of: an error of the send, or the end of the wait for its answer
      await Promise.race([sent, heard.answer]);
      return await heard.answer;
    } finally {
      heard.stop();
    }
  }

  private async unanswered({ send, count }: Attempt): Promise<false> {
    this.unansweredInARow += 1;
    if (this.unansweredInARow >= STUCK_AFTER)
      this.deps.stuck?.(`${this.unansweredInARow} messages in a row were not acknowledged on an open connection`);
    if (count < MOST_UNANSWERED)
      throw new ChannelAway(
        'WhatsApp did not acknowledge a message in time; it is sent again under the same id.',
        1000,
      );
    await abandon(this.deps, send.outboxId, (say) => say('because.unacknowledged', { count }));
    return false;
  }

  private async refused({ send, count }: Attempt, code: string): Promise<false> {
    this.unansweredInARow = 0;
    const refusal = refusalOf(code, count);
    if (refusal.kind === 'devices')
      throw new ChannelAway(
        `WhatsApp refused a message (${code}); it is sent again with a fresh list of devices.`,
        1000,
      );
    if (refusal.kind === 'later') {
      if (refusal.pauseMs) await this.pauseAll(code, refusal.say, refusal.pauseMs);
      if (refusal.chatPauseMs) await this.pauseOne(send.jid, code, refusal.say, refusal.chatPauseMs);
      throw new ChannelAway(refusal.say(english), refusal.afterMs);
    }
    if (refusal.chatPauseMs) await this.pauseOne(send.jid, code, refusal.say, refusal.chatPauseMs);
    await abandon(this.deps, send.outboxId, refusal.say, !refusal.chatPauseMs);
    return false;
  }

  private async pauseAll(code: string, why: Told, ms: number): Promise<void> {
    await pauseSends(this.deps.db, this.deps.account, { until: new Date(Date.now() + ms), why: why(english) });
    await tell(this.deps, `${code}-${thisHour()}`, why, ms >= HOUR);
  }

  /**
   * Pauses only this chat, so that one person's refusal silences nobody else. When several chats refuse an account that
   * they do not know (463), pauses everything.
   */
  private async pauseOne(jid: string, code: string, why: Told, ms: number): Promise<void> {
    const { db, account } = this.deps;
    const chats = await pauseChat(db, account, jid, { until: new Date(Date.now() + ms), why: why(english), code });
    const since = code === '463' ? thisHour() : Math.floor(Date.now() / DAY);
    if (code !== '463' || chats < REFUSED_CHATS) return await tell(this.deps, `${code}-${jid}-${since}`, why, true);
    const all: Told = (say) => say('link.manyChats', { count: chats, code });
    await this.pauseAll(`${code}-all`, all, ms);
  }
}

/** A person is told once an hour, or once a day of what is tried again, and not for every refused message. */
const thisHour = (): number => Math.floor(Date.now() / HOUR);

/** The reaction to a refused message. `say` is one sentence for people. */
type Refusal =
  /** the recipient's device list is outdated: fetch it and send the same message again */
  | { kind: 'devices' }
  /** the same message later; before it, nothing else with `pauseMs`, and nothing else to this chat with `chatPauseMs` */
  | { kind: 'later'; afterMs: number; pauseMs?: number; chatPauseMs?: number; say: Told }
  /** this message will not be sent; with `chatPauseMs`, nothing else to this chat for so long */
  | { kind: 'failed'; chatPauseMs?: number; say: Told };

/**
 * The reaction to the `error` of a message's ack, at this attempt (1 is the first). Repeating a 463 counts as another
 * attempt to contact a stranger.
 */
export function refusalOf(code: string, attempt: number): Refusal {
  switch (code) {
    case '463':
      return {
        kind: 'failed',
        chatPauseMs: CHAT_PAUSE_MS,
        say: (say) => say('link.stranger'),
      };
    case '402':
    case '403':
    case '406':
      return {
        kind: 'later',
        afterMs: CHECK_MS,
        // a chat may refuse for a moment, or until somebody changes it; what concerns the account ends the connection
        chatPauseMs: Math.min(CHAT_PAUSE_MS, MINUTE * 4 ** (attempt - 1)),
        say: (say) => say('link.notThere', { code }),
      };
    case '429':
      return {
        kind: 'later',
        afterMs: 5 * MINUTE,
        pauseMs: 5 * MINUTE,
        say: (say) => say('link.slower'),
      };
    case '479':
      return attempt < 3 ? { kind: 'devices' } : { kind: 'failed', say: (say) => say('link.malformed') };
    default:
      return attempt < 4
        ? { kind: 'later', afterMs: 5_000 * attempt, say: (say) => say('link.refusedOne', { code }) }
        : { kind: 'failed', say: (say) => say('link.refusedOften', { count: attempt, code }) };
  }
}

/** Replaces our keys of a group; the next message carries the new ones for everybody. */
async function renewKeys(jid: string, { sock }: Live): Promise<void> {
  const { keys, creds } = sock.authState;
  // as libsignal names them: LIDs are marked by the number of their domain
  const own = [creds.me?.id, creds.me?.lid].flatMap((id) => {
    const [, user, device, server] = /^([^:@]+)(?::(\d+))?@(.+)$/.exec(id ?? '') ?? [];
    return user ? [`${jid}::${server === 'lid' ? `${user}_1` : user}::${device ?? 0}`] : [];
  });
  await keys.transaction(async () => {
    await keys.set({
      'sender-key': Object.fromEntries(own.map((name) => [name, null])),
      'sender-key-memory': { [jid]: null },
    });
  }, jid);
}

/** Makes the next message to a group carry its keys for everybody. */
const forgetKeyed = (jid: string, { sock }: Live): Promise<void> =>
  Promise.resolve(sock.authState.keys.set({ 'sender-key-memory': { [jid]: null } }));
