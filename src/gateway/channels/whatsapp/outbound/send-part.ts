import type { proto } from '@whiskeysockets/baileys';
import { canonicalUser, isGroup } from '../../../../domain/whatsapp/identity.ts';
import { beginAttempt, hasLostAttempt, markAccepted, type Send } from '../../../../store/whatsapp/sends.ts';
import { ChannelAway } from '../../channel.ts';
import { withoutSecrets } from '../library/silence.ts';
import type { Live } from '../live.ts';
import { listenForAnswer, type ServerAnswer } from './ack.ts';
import { relayExtras } from './encode.ts';
import { pauseAll, pauseOne } from './pauses.ts';
import { refusalOf } from './refusals.ts';
import { abandon, type Sending } from './sending.ts';

const DEADLINE_MS = 45_000;
/** Unanswered sends in a row after which the process ends. */
const STUCK_AFTER = 2;
/**
 * Failures that are not the connection's, after which a message is given up, so that it does not block its chat for
 * ever.
 */
const MOST_FAILURES = 8;
const MOST_UNANSWERED = 12;

/** One attempt at one part of a message: its number, and its connection. */
interface Attempt {
  send: Send;
  count: number;
  live: Live;
  signal: AbortSignal;
}

/**
 * One attempt at one part. `false` when this part and those behind it will not be sent. @throws ChannelAway when the
 * part must be tried again
 */
export async function sendPart(sending: Sending, send: Send, live: Live, signal: AbortSignal): Promise<boolean> {
  const { db } = sending.deps;
  if (!(await beginAttempt(db, send.messageId))) return true;
  const attempt: Attempt = { send, count: send.attempts + 1, live, signal };
  await refreshGroupKeys(sending, attempt);
  let answer: ServerAnswer;
  try {
    answer = await answerTo(sending, attempt);
  } catch (error) {
    if (live.closed.aborted || isClosed(error))
      throw new ChannelAway('The connection to WhatsApp closed during a send.', 500);
    const reason = withoutSecrets((error as Error).message);
    if (attempt.count < MOST_FAILURES)
      throw new ChannelAway(`A message could not be sent: ${reason}`, 1000 * attempt.count);
    await abandon(sending.deps, send.outboxId, `a message could not be sent in ${attempt.count} attempts: ${reason}`);
    return false;
  }
  switch (answer.kind) {
    case 'accepted':
      sending.unanswered = 0;
      await markAccepted(db, sending.deps.account, [send.messageId], answer.at);
      if (isGroup(send.jid)) sending.keyed.add(send.jid);
      return true;
    case 'closed':
      throw new ChannelAway(
        'The connection to WhatsApp closed before a message was acknowledged; it is sent again under the same id.',
        500,
      );
    case 'late':
      return await unanswered(sending, attempt);
    case 'refused':
      return await refused(sending, attempt, answer.code);
  }
}

/**
 * Baileys records who got the keys of a group before they are sent. Keys that went with a lost attempt, of any message,
 * may never have arrived. Keys that somebody has who is no longer in the group are replaced.
 */
async function refreshGroupKeys(sending: Sending, { send, count, live }: Attempt): Promise<void> {
  const { deps, keyed } = sending;
  const { jid } = send;
  if (isGroup(jid)) {
    if (await hasLeaver(sending, jid, live)) await renewKeys(jid, live);
    else if (count > 1 || (!keyed.has(jid) && (await hasLostAttempt(deps.db, send)))) await forgetKeyed(jid, live);
  }
  keyed.delete(jid);
}

/** Whether somebody has the keys of a group and is not in it. */
async function hasLeaver({ deps }: Sending, jid: string, { sock, me }: Live): Promise<boolean> {
  const { [jid]: keyed } = await sock.authState.keys.get('sender-key-memory', [jid]);
  const group = keyed && (await deps.groupOf?.(jid));
  if (!group) return false;
  const members = new Set(
    [me.jid, me.lid, ...group.participants.flatMap(({ id, phoneNumber, lid }) => [id, phoneNumber, lid])].flatMap(
      (each) => (each ? [canonicalUser(each)] : []),
    ),
  );
  return Object.keys(keyed).some((device) => !members.has(canonicalUser(device)));
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

/**
 * The server's answer to a message. If it says that our device list is outdated, the message is sent again with a fresh
 * one.
 */
async function answerTo(sending: Sending, attempt: Attempt): Promise<ServerAnswer> {
  const { proto } = await import('@whiskeysockets/baileys');
  const { send, count, live } = attempt;
  const message = proto.Message.decode(send.content);
  const answer = await relay(sending, attempt, message, false);
  if (answer.kind !== 'refused' || refusalOf(answer.code, count).kind !== 'devices') return answer;
  await live.sock.userDevicesCache?.del(canonicalUser(send.jid).split('@')[0]!);
  if (isGroup(send.jid)) await forgetKeyed(send.jid, live);
  return await relay(sending, attempt, message, true);
}

async function relay(
  { deps }: Sending,
  { send, live, signal }: Attempt,
  message: proto.IMessage,
  fresh: boolean,
): Promise<ServerAnswer> {
  const heard = listenForAnswer(live, send.messageId, deps.deadlineMs ?? DEADLINE_MS, signal);
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

async function unanswered(sending: Sending, { send, count }: Attempt): Promise<false> {
  sending.unanswered += 1;
  if (sending.unanswered >= STUCK_AFTER)
    sending.deps.stuck?.(`${sending.unanswered} messages in a row were not acknowledged on an open connection`);
  if (count < MOST_UNANSWERED)
    throw new ChannelAway('WhatsApp did not acknowledge a message in time; it is sent again under the same id.', 1000);
  await abandon(sending.deps, send.outboxId, `a message was not acknowledged in ${count} attempts`);
  return false;
}

async function refused(sending: Sending, { send, count }: Attempt, code: string): Promise<false> {
  const { deps } = sending;
  sending.unanswered = 0;
  const refusal = refusalOf(code, count);
  if (refusal.kind === 'devices')
    throw new ChannelAway(`WhatsApp refused a message (${code}); it is sent again with a fresh list of devices.`, 1000);
  if (refusal.kind === 'later') {
    if (refusal.pauseMs) await pauseAll(deps, code, refusal.say, refusal.pauseMs);
    if (refusal.chatPauseMs) await pauseOne(deps, send.jid, code, refusal.say, refusal.chatPauseMs);
    throw new ChannelAway(refusal.say, refusal.afterMs);
  }
  if (refusal.chatPauseMs) await pauseOne(deps, send.jid, code, refusal.say, refusal.chatPauseMs);
  await abandon(deps, send.outboxId, refusal.say, !refusal.chatPauseMs);
  return false;
}

/** Errors of a closed socket: its own status (428, 408, 440, ...) or a bare number. */
function isClosed(error: unknown): boolean {
  if (typeof error === 'number') return true;
  const { output, message } = (error ?? {}) as { output?: { statusCode?: number }; message?: string };
  return (
    [408, 428, 440, 503, 515].includes(output?.statusCode ?? 0) ||
    /connection (closed|terminated|lost)|websocket/i.test(message ?? '')
  );
}
