import { proto } from '@whiskeysockets/baileys';
import { deviceIdentityHolds } from './adv.ts';
import type { Companion } from './companion.ts';
import type { Connection } from './connection.ts';
import type { Handset } from './handset.ts';
import type { Decryption, SeenMessage } from './ledger.ts';
import { readMessage } from './reading.ts';
import { askAgain } from './retry.ts';
import { unpad } from './signal.ts';
import { bytes, child, children, device, el, isGroup, isLid, type Stanza, seconds } from './stanza.ts';
import { handsetOf, isOwn, linked, type World } from './world.ts';

/** A message of the client: decrypted by every phone that it is for, acknowledged, and reported as delivered. */

interface Copy {
  to: string;
  enc: Stanza;
}

export async function handleMessage(world: World, connection: Connection, stanza: Stanza): Promise<void> {
  const companion = connection.companion!;
  const { id = '', to = '', type = '', edit = null } = stanza.attrs;
  const copies = copiesIn(stanza);
  const participants = copies.map((copy) => copy.to);
  const seen: SeenMessage = {
    kind: 'message',
    at: Date.now(),
    device: companion.device,
    id,
    to,
    type,
    edit,
    participants,
    decrypted: [],
    ack: 'sent',
    stanza,
  };
  world.ledger.record(seen);
  const ack = (error?: number) => connection.send(el('ack', { class: 'message', id, from: to, t: seconds(), error }));
  const refusal = world.faults.takeAckError();
  if (refusal !== undefined) {
    seen.ack = refusal;
    return ack(refusal);
  }
  const trusted = holdsIdentity(world, companion, stanza);
  for (const copy of copies) {
    if (isOwn(world, copy.to) && device(copy.to) > 0) {
      if (device(copy.to) !== companion.device) forward(world, companion, stanza, copy);
      continue;
    }
    const handset = handsetOf(world, copy.to);
    const outcome = handset
      ? await decrypt(world, handset, companion, stanza, copy, trusted)
      : failed(copy.to, copy.enc, new Error('nobody has this address'));
    seen.decrypted.push(outcome);
  }
  await decryptForGroup(world, companion, stanza, seen);
  if (world.faults.takeDroppedAck()) seen.ack = 'dropped';
  else ack();
  for (const outcome of seen.decrypted) report(world, companion, stanza, outcome);
}

/** The pairwise copies: in the list of participants, or the only one of a resend or of a message to the own phone. */
function copiesIn(stanza: Stanza): Copy[] {
  const listed = children(child(stanza, 'participants'), 'to').map((entry) => ({
    to: entry.attrs.jid ?? '',
    enc: child(entry, 'enc')!,
  }));
  const direct = children(stanza, 'enc').filter(({ attrs }) => attrs.type !== 'skmsg');
  return [...listed, ...direct.map((enc) => ({ to: stanza.attrs.participant ?? stanza.attrs.to ?? '', enc }))];
}

/** A first message must prove that its device belongs to the account. */
function holdsIdentity(world: World, companion: Companion, stanza: Stanza): boolean {
  const identity = child(stanza, 'device-identity');
  return !!identity && deviceIdentityHolds(bytes(identity), world.phone.signal.identity.public, companion.identity);
}

async function decrypt(
  world: World,
  handset: Handset,
  companion: Companion,
  stanza: Stanza,
  { to, enc }: Copy,
  trusted: boolean,
): Promise<Decryption> {
  try {
    if (enc.attrs.type === 'pkmsg' && !trusted) throw new Error('the device identity is missing or badly signed');
    const message = proto.Message.decode(await handset.signal.decrypt(companion, enc.attrs.type ?? '', bytes(enc)));
    const inner = message.deviceSentMessage?.message ?? message;
    const key = inner.senderKeyDistributionMessage;
    if (key)
      await handset.signal.senderKeys.accept(
        key.groupId ?? '',
        companion.address,
        key.axolotlSenderKeyDistributionMessage!,
      );
    if (stanza.attrs.category === 'peer') await world.phone.acceptPeerMessage(companion, stanza.attrs.id!, inner);
    else show(world, handset, stanza, inner, message.deviceSentMessage?.destinationJid);
    return { to, type: enc.attrs.type ?? '', text: readMessage(inner, world.media).text, message: inner, error: null };
  } catch (error) {
    return failed(to, enc, error);
  }
}

async function decryptForGroup(world: World, companion: Companion, stanza: Stanza, seen: SeenMessage): Promise<void> {
  const enc = children(stanza, 'enc').find(({ attrs }) => attrs.type === 'skmsg');
  const group = enc && world.groups.get(stanza.attrs.to ?? '');
  if (!enc || !group) return;
  for (const member of group.handsets()) {
    const to = group.idOf(member);
    try {
      const message = proto.Message.decode(
        unpad(await member.signal.senderKeys.decrypt(group.jid, companion.address, bytes(enc))),
      );
      show(world, member, stanza, message);
      seen.decrypted.push({ to, type: 'skmsg', text: readMessage(message, world.media).text, message, error: null });
    } catch (error) {
      // a resend reaches those who have read it already, and their key has moved on
      if (!member.message(seen.id)) seen.decrypted.push(failed(to, enc, error));
    }
  }
}

const failed = (to: string, enc: Stanza, error: unknown): Decryption => ({
  to,
  type: enc.attrs.type ?? '',
  text: null,
  message: null,
  error: (error as Error).message,
});

function addressingOf(world: World, stanza: Stanza): 'lid' | 'pn' {
  const to = stanza.attrs.to;
  if (isGroup(to)) return world.groups.get(to!)?.addressing ?? 'lid';
  return isLid(to) ? 'lid' : 'pn';
}

function show(
  world: World,
  handset: Handset,
  stanza: Stanza,
  message: proto.IMessage,
  destination?: string | null,
): void {
  const { id = '', to = '' } = stanza.attrs;
  const addressing = addressingOf(world, stanza);
  const other = handset === world.phone ? (handsetOf(world, destination ?? to)?.lid ?? to) : world.account.lid;
  handset.accept({
    id,
    chat: isGroup(to) ? to : other,
    from: world.account[addressing],
    addressing,
    by: 'client',
    message,
  });
}

/** What the phones tell the client of a copy: delivered (and read), or "send it again". */
function report(world: World, companion: Companion, stanza: Stanza, { to, error, type, message }: Decryption): void {
  const handset = handsetOf(world, to);
  const { id = '', category } = stanza.attrs;
  if (!handset || category === 'peer') return;
  const chat = stanza.attrs.recipient ?? stanza.attrs.to ?? '';
  const addressing = addressingOf(world, stanza);
  if (error !== null) {
    if (world.faults.askAgain) askAgain(world, handset, companion, { id, to: chat, addressing });
    return;
  }
  const onlyKeys = isGroup(chat) && type !== 'skmsg' && !!message?.senderKeyDistributionMessage && !handset.message(id);
  if (handset === world.phone || onlyKeys) return;
  if (isGroup(chat) && type !== 'skmsg' && !stanza.attrs.participant) return;
  const where = isGroup(chat) ? { from: chat, participant: to } : { from: to };
  if (world.faults.receipts.delivered) world.faults.sendReceipt(companion, { id, ...where, t: seconds() });
  if (world.faults.receipts.read) world.faults.sendReceipt(companion, { id, ...where, type: 'read', t: seconds() });
}

/** Another linked device of the account gets its copy as from a device of the account. */
function forward(world: World, sender: Companion, stanza: Stanza, { to, enc }: Copy): void {
  const target = linked(world).find((companion) => companion.device === device(to));
  const { id, type, edit } = stanza.attrs;
  const attrs = { id, type, edit, from: isLid(to) ? sender.lid : sender.jid, recipient: stanza.attrs.to, t: seconds() };
  if (!isGroup(stanza.attrs.to)) target?.deliver(el('message', attrs, [enc]));
}
