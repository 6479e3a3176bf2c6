import type { Companion } from './companion.ts';
import { verify } from './curve.ts';
import type { Handset } from './handset.ts';
import { retransmit } from './sending.ts';
import type { Bundle } from './signal.ts';
import { bigEndian, bytes, child, el, isGroup, type Stanza, seconds, uint, user } from './stanza.ts';
import { handsetOf, type World } from './world.ts';

/** Both directions of "this message could not be decrypted, send it again". */

const MOST_REQUESTS = 5;

export interface Undecryptable {
  id: string;
  /** what the client had written as the recipient */
  to: string;
  addressing: 'lid' | 'pn';
  withKeys?: boolean;
}

/** A phone asks the client again; from the second time on it sends keys along. */
export function askAgain(world: World, handset: Handset, companion: Companion, about: Undecryptable): void {
  const count = (handset.asked.get(about.id) ?? 0) + 1;
  if (count > MOST_REQUESTS) return;
  handset.asked.set(about.id, count);
  const own = handset[about.addressing];
  const where = isGroup(about.to)
    ? { from: about.to, participant: own }
    : { from: own, recipient: handset === world.phone ? about.to : undefined };
  const t = seconds();
  const keys = about.withKeys || count > 1 ? [keysOf(handset.signal.bundle())] : [];
  const content = [
    el('retry', { count, id: about.id, t, v: 1 }),
    el('registration', {}, bigEndian(handset.signal.registrationId, 4)),
    ...keys,
  ];
  companion.deliver(el('receipt', { id: about.id, type: 'retry', t, ...where }, content));
}

function keysOf({ identity, preKey, signedPreKey }: Bundle): Stanza {
  const oneTime = preKey
    ? [el('key', {}, [el('id', {}, bigEndian(preKey.id, 3)), el('value', {}, preKey.public)])]
    : [];
  return el('keys', {}, [
    el('type', {}, Buffer.from([5])),
    el('identity', {}, identity),
    ...oneTime,
    signedKeyNode(signedPreKey),
  ]);
}

export const signedKeyNode = ({ id, public: value, signature }: Bundle['signedPreKey']): Stanza =>
  el('skey', {}, [el('id', {}, bigEndian(id, 3)), el('value', {}, value), el('signature', {}, signature)]);

export const readSignedKey = (skey: Stanza | undefined): Bundle['signedPreKey'] => ({
  id: uint(child(skey, 'id')),
  public: bytes(child(skey, 'value')),
  signature: bytes(child(skey, 'signature')),
});

/**
 * The client could not decrypt: its author's phone sends the same id again, in a session from the keys that came along
 * or lie on the server.
 */
export async function answerRetry(world: World, companion: Companion, receipt: Stanza): Promise<void> {
  const { id, to, participant } = receipt.attrs;
  const author = handsetOf(world, participant ?? to);
  const sent = author?.sent.get(id ?? '');
  const count = Number(child(receipt, 'retry')?.attrs.count ?? 1);
  if (!author || !sent)
    return world.ledger.problem(`a retry receipt for ${id} of ${participant ?? to}, which nobody sent`);
  if (count > MOST_REQUESTS) return;
  sent.receipts.push('retry');
  if (!world.faults.resends) return;
  const keys = child(receipt, 'keys');
  await author.signal.startSession(companion, keys ? bundleFrom(receipt, keys, companion) : companion.bundle());
  await retransmit(author, sent, companion, count);
}

function bundleFrom(receipt: Stanza, keys: Stanza, companion: Companion): Bundle {
  const signedPreKey = readSignedKey(child(keys, 'skey'));
  const identity = bytes(child(keys, 'identity'));
  if (!verify(companion.identity, signedPreKey.signature, Buffer.from([5]), signedPreKey.public))
    throw new Error(`${user(companion.jid)} sent badly signed keys`);
  const oneTime = child(keys, 'key');
  const preKey = oneTime && { id: uint(child(oneTime, 'id')), public: bytes(child(oneTime, 'value')) };
  return { registrationId: uint(child(receipt, 'registration')), identity, signedPreKey, preKey };
}
