import { proto } from '@whiskeysockets/baileys';
import type { Connection } from './connection.ts';
import { readMediaRetry, sealMediaRetry } from './media-crypto.ts';
import { answerRetry } from './retry.ts';
import { bytes, child, children, el, type Stanza, seconds } from './stanza.ts';
import { handsetOf, type World } from './world.ts';

/** What the client says of the messages that it was sent. */

const NOT_DELIVERIES = new Set(['read', 'read-self', 'played', 'hist_sync']);

export async function handleReceipt(world: World, connection: Connection, receipt: Stanza): Promise<void> {
  const companion = connection.companion!;
  const { id = '', to, type, participant } = receipt.attrs;
  try {
    if (type === 'retry') await answerRetry(world, companion, receipt);
    else if (type === 'server-error') uploadAgain(world, connection, receipt);
    else {
      const ids = [id, ...children(child(receipt, 'list'), 'item').map(({ attrs }) => attrs.id ?? '')];
      const author = handsetOf(world, participant ?? to);
      for (const each of ids) author?.sent.get(each)?.receipts.push(type ?? 'delivered');
      if (!NOT_DELIVERIES.has(type ?? ''))
        for (const each of ids) companion.settle('message', each, to) || companion.settle('message', each, undefined);
    }
  } catch (error) {
    world.ledger.problem(`a ${type ?? 'delivery'} receipt for ${id}: ${(error as Error).message}`);
  }
  connection.send(el('ack', { class: 'receipt', id, type, from: to, participant, t: seconds() }));
}

/** The stanza has arrived: acks of the client settle what is not settled by a receipt. */
export function handleAck(connection: Connection, ack: Stanza): void {
  const { class: tag = '', id, to, type } = ack.attrs;
  const companion = connection.companion;
  if (companion && !companion.settle(tag, id, to, type)) companion.settle(tag, id, undefined, type);
}

/** The own phone uploads an expired file again and tells the client the new path. */
function uploadAgain(world: World, connection: Connection, receipt: Stanza): void {
  const { reupload } = world.faults;
  const id = receipt.attrs.id ?? '';
  const mediaKey = world.media.mediaKeyOf(id);
  const sealed = child(receipt, 'encrypt');
  if (mediaKey && readMediaRetry(mediaKey, id, bytes(child(sealed, 'enc_iv')), bytes(child(sealed, 'enc_p'))) !== id)
    throw new Error('it asks for another message');
  if (reupload === 'silent') return;
  const rmr = el('rmr', { ...child(receipt, 'rmr')?.attrs });
  const attrs = { id, type: 'mediaretry', from: world.account.pn, t: seconds() };
  const stored = reupload === 'again' ? world.media.storeAgain(id) : null;
  if (!stored) {
    const NOT_FOUND = proto.MediaRetryNotification.ResultType.NOT_FOUND;
    connection.companion!.deliver(el('notification', attrs, [el('error', { code: NOT_FOUND }), rmr]));
    return;
  }
  const answer = sealMediaRetry(stored.mediaKey, id, {
    stanzaId: id,
    directPath: stored.path,
    result: proto.MediaRetryNotification.ResultType.SUCCESS,
  });
  const encrypt = el('encrypt', {}, [el('enc_p', {}, answer.sealed), el('enc_iv', {}, answer.iv)]);
  connection.companion!.deliver(el('notification', attrs, [encrypt, rmr]));
}
