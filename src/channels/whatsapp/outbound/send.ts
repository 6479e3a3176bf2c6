import { setTimeout as pause } from 'node:timers/promises';
import { canonicalUser, isGroup } from '../../../domain/whatsapp/identity.ts';
import { tellElsewhere } from '../../../store/whatsapp/account.ts';
import { findOutgoingRow } from '../../../store/whatsapp/outgoing.ts';
import { chatPause, pauseChat, pauseSends, sendPause } from '../../../store/whatsapp/pause.ts';
import { beginAttempt, giveUp, hasLostAttempt, markAccepted, type Send, sentSince } from '../../../store/whatsapp/sends.ts';
import { ChannelAway, type ChannelSender } from '../../channel.ts';
import { createPacer, DAY_MS, type Pacer } from '../../shared/pacing.ts';
import { withoutSecrets } from '../link/silence.ts';
import type { CurrentLive, Live, WhatsAppDeps } from '../live.ts';
import { listenForAnswer } from './ack.ts';
import { relayExtras } from './encode.ts';
import { createParts } from './parts.ts';
import { REFUSED_CHATS, refusalOf } from './refusals.ts';

export interface SenderDeps extends WhatsAppDeps {
  live: CurrentLive;
  /** the socket is open, but the server does not answer sends any more: only a new process helps */
  stuck?: (why: string) => void;
  /** how long the server may take to answer a send */
  deadlineMs?: number;
  /** how long a send waits for a connection before it goes back to the task queue */
  patienceMs?: number;
  pacer?: Pacer;
}

const DEADLINE_MS = 45_000;
/** The queue is served only while a connection is open, so this covers the moment between two. */
const PATIENCE_MS = 5_000;
/** Sends in a row without an answer after which the process is given up. */
const STUCK_AFTER = 2;
/** Attempts that failed for another reason than the connection, after which a message is given up: it must not hold its chat up for ever. */
const MOST_FAILURES = 8;
const MOST_UNANSWERED = 12;

/** The way out to WhatsApp: returns when its server has taken every part of an outbox row, or the row was given up with a reason that is told elsewhere. */
export function whatsappSender(deps: SenderDeps): ChannelSender {
  const { db, account, config, log } = deps;
  const parts = createParts(deps, (outboxId, why) => abandon(outboxId, why));
  let unanswered = 0;
  // groups whose latest message arrived with its keys
  const keyed = new Set<string>();
  const pacer =
    deps.pacer ??
    createPacer(
      { paceMs: config.WHATSAPP_PACE_MS, perMinute: config.WHATSAPP_PER_MINUTE, perDay: config.WHATSAPP_PER_DAY },
      (since) => sentSince(db, account, since),
      { onDayFull: () => void tell(`day-${day()}`, `${config.WHATSAPP_PER_DAY} WhatsApp messages were sent in a day (WHATSAPP_PER_DAY). More wait.`) },
    );

  const tell = async (key: string, text: string, needsPerson = false): Promise<void> => {
    log.warn({ key }, text);
    await tellElsewhere(db, account, `send-${key}`, text, needsPerson).catch((error) => log.error({ err: error }, 'a problem of WhatsApp could not be told'));
  };

  async function connected(signal: AbortSignal): Promise<Live> {
    const until = Date.now() + (deps.patienceMs ?? PATIENCE_MS);
    for (;;) {
      const live = deps.live();
      if (live && !live.closed.aborted) return live;
      if (Date.now() > until || signal.aborted) throw new ChannelAway('WhatsApp is not connected; the message waits.', 1000);
      await pause(100, undefined, { signal }).catch(() => {});
    }
  }

  /** One attempt at one part. `false` when it will not be sent, nor what follows it. */
  async function attempt(send: Send, live: Live, signal: AbortSignal): Promise<boolean> {
    if (!(await beginAttempt(db, send.messageId))) return true;
    const count = send.attempts + 1;
    const { proto } = await import('@whiskeysockets/baileys');
    const message = proto.Message.decode(send.content);
    // Baileys notes whom it gave the keys of a group before they leave: those that went with a lost attempt, of whichever message, may never have arrived
    if (isGroup(send.jid) && (count > 1 || (!keyed.has(send.jid) && (await hasLostAttempt(db, send))))) await forgetKeyed(send.jid, live);
    keyed.delete(send.jid);
    const relay = async (fresh: boolean) => {
      const heard = listenForAnswer(live, send.messageId, deps.deadlineMs ?? DEADLINE_MS, signal);
      try {
        const sent = live.sock.relayMessage(send.jid, message, {
          messageId: send.messageId,
          ...(fresh && { useUserDevicesCache: false, useCachedGroupMetadata: false }),
          ...relayExtras(message),
        });
        // whichever comes first: an error of the send, or the end of the wait for its answer
        await Promise.race([sent, heard.answer]);
        return await heard.answer;
      } finally {
        heard.stop();
      }
    };

    let answer: Awaited<ReturnType<typeof relay>>;
    try {
      answer = await relay(false);
      if (answer.kind === 'refused' && refusalOf(answer.code, count).kind === 'devices') {
        await live.sock.userDevicesCache?.del(canonicalUser(send.jid).split('@')[0]!);
        if (isGroup(send.jid)) await forgetKeyed(send.jid, live);
        answer = await relay(true);
      }
    } catch (error) {
      if (live.closed.aborted || isClosed(error)) throw new ChannelAway('The connection to WhatsApp closed during a send.', 500);
      const reason = withoutSecrets((error as Error).message);
      if (count < MOST_FAILURES) throw new ChannelAway(`A message could not be sent: ${reason}`, 1000 * count);
      return await abandon(send.outboxId, `a message could not be sent in ${count} attempts: ${reason}`);
    }
    switch (answer.kind) {
      case 'accepted':
        unanswered = 0;
        await markAccepted(db, account, [send.messageId], answer.at);
        if (isGroup(send.jid)) keyed.add(send.jid);
        return true;
      case 'closed':
        throw new ChannelAway('The connection to WhatsApp closed before a message was acknowledged; it is sent again under the same id.', 500);
      case 'late':
        unanswered += 1;
        if (unanswered >= STUCK_AFTER) deps.stuck?.(`${unanswered} messages in a row were not acknowledged on an open connection`);
        if (count >= MOST_UNANSWERED) return await abandon(send.outboxId, `a message was not acknowledged in ${count} attempts`);
        throw new ChannelAway('WhatsApp did not acknowledge a message in time; it is sent again under the same id.', 1000);
      case 'refused':
        return await refused(send, answer.code, count);
    }
  }

  /** The next message to a group takes its keys along, for everybody. */
  const forgetKeyed = (jid: string, { sock }: Live): Promise<void> => Promise.resolve(sock.authState.keys.set({ 'sender-key-memory': { [jid]: null } }));

  async function refused(send: Send, code: string, count: number): Promise<boolean> {
    unanswered = 0;
    const refusal = refusalOf(code, count);
    if (refusal.kind === 'devices') throw new ChannelAway(`WhatsApp refused a message (${code}); it is sent again with a fresh list of devices.`, 1000);
    if (refusal.kind === 'later') {
      if (refusal.pauseMs) await pauseAll(code, refusal.say, refusal.pauseMs);
      throw new ChannelAway(refusal.say, refusal.afterMs);
    }
    if (refusal.chatPauseMs) await pauseOne(send.jid, code, refusal.say, refusal.chatPauseMs);
    return await abandon(send.outboxId, refusal.say, !refusal.chatPauseMs);
  }

  async function pauseAll(code: string, why: string, ms: number): Promise<void> {
    await pauseSends(db, account, { until: new Date(Date.now() + ms), why });
    // a person is told once an hour, not for every message that is refused
    await tell(`${code}-${Math.floor(Date.now() / 3_600_000)}`, why, ms >= 3_600_000);
  }

  /** The chat alone, so that one person's refusal silences nobody else; when several chats refuse, everything. */
  async function pauseOne(jid: string, code: string, why: string, ms: number): Promise<void> {
    const chats = await pauseChat(db, account, jid, { until: new Date(Date.now() + ms), why });
    if (chats >= REFUSED_CHATS)
      return pauseAll(
        `${code}-all`,
        `WhatsApp refused messages to ${chats} chats within an hour (${code}). Everything waits for an hour; look into WhatsApp on the phone.`,
        ms,
      );
    await tell(`${code}-${jid}-${Math.floor(Date.now() / 3_600_000)}`, why, true);
  }

  /** @throws ChannelAway while nothing may leave, or nothing for this chat */
  async function unlessPaused(jid: string | null): Promise<void> {
    const stopped = jid === null ? await sendPause(db, account) : await chatPause(db, account, jid);
    if (stopped) throw new ChannelAway(stopped.why, Math.min(5 * 60_000, Math.max(1000, stopped.until.getTime() - Date.now())));
  }

  async function abandon(outboxId: string, why: string, telling = true): Promise<false> {
    await giveUp(db, outboxId, why);
    if (telling) await tell(`failed-${outboxId}`, `A WhatsApp message was given up: ${why}`);
    return false;
  }

  async function deliver(id: string, signal: AbortSignal): Promise<void> {
    await unlessPaused(null);
    const live = await connected(signal);
    // read after the wait: a question may have been decided meanwhile
    const row = await findOutgoingRow(db, id);
    if (row?.state !== 'queued') return;
    const ended = AbortSignal.any([signal, live.closed]);
    try {
      for (const send of (await parts(row, live, ended)) ?? []) {
        if (send.state !== 'queued') continue;
        await unlessPaused(send.jid);
        await pacer.take(ended);
        if (!(await attempt(send, live, ended))) return;
      }
    } catch (error) {
      throw live.closed.aborted && !(error instanceof ChannelAway) ? new ChannelAway('The connection to WhatsApp closed; the message waits.', 500) : error;
    }
  }

  const running = new Map<string, Promise<void>>();
  return {
    // an attempt that Temporal has given up may still run here: the next one waits for its end and goes on from there
    async send({ id }, signal) {
      const before = running.get(id);
      const mine = (before ?? Promise.resolve()).catch(() => {}).then(() => deliver(id, signal));
      running.set(id, mine);
      try {
        await mine;
      } finally {
        if (running.get(id) === mine) running.delete(id);
      }
    },
  };
}

const day = (): number => Math.floor(Date.now() / DAY_MS);

/** Errors of a socket that is gone: a status of its own (428, 408, 440, ...) or a bare number. */
function isClosed(error: unknown): boolean {
  if (typeof error === 'number') return true;
  const { output, message } = (error ?? {}) as { output?: { statusCode?: number }; message?: string };
  return [408, 428, 440, 503, 515].includes(output?.statusCode ?? 0) || /connection (closed|terminated|lost)|websocket/i.test(message ?? '');
}
