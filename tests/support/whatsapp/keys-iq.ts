import type { Connection } from './connection.ts';
import { typed, verify } from './curve.ts';
import { readSignedKey, signedKeyNode } from './retry.ts';
import type { Bundle } from './signal.ts';
import { bigEndian, bytes, child, children, device, el, type Stanza, seconds, uint } from './stanza.ts';
import { handsetOf, isOwn, type World } from './world.ts';

/** Pre-keys: what a linked device uploads, and what it fetches to write to others. */

type Answer = Stanza[] | { code: number; text: string };
const REFUSED: Answer = { code: 406, text: 'not-acceptable' };

/** An upload, or a new signed pre-key; refused when it is not signed by the identity that was linked. */
export function bootstrapKeys(connection: Connection, iq: Stanza): Answer {
  const companion = connection.companion!;
  const rotated = child(iq, 'rotate');
  const signedPreKey = readSignedKey(child(rotated ?? iq, 'skey'));
  if (!verify(companion.identity, signedPreKey.signature, typed(signedPreKey.public))) return REFUSED;
  if (!rotated && !bytes(child(iq, 'identity')).equals(companion.identity)) return REFUSED;
  companion.keys.signedPreKey = signedPreKey;
  for (const key of children(child(iq, 'list'), 'key'))
    companion.preKeys.set(uint(child(key, 'id')), bytes(child(key, 'value')));
  return [];
}

/** The count of one-time keys, the digest of what is on the server, or the keys of other people's devices. */
export function answerKeys(world: World, connection: Connection, iq: Stanza): Answer {
  if (child(iq, 'count')) return [el('count', { value: connection.companion!.preKeys.size })];
  if (child(iq, 'digest'))
    return [el('digest', {}, [el('registration', {}, bigEndian(connection.companion!.keys.registrationId, 4))])];
  const users = children(child(iq, 'key'), 'user').map(({ attrs }) => {
    const bundle = bundleOf(world, attrs.jid!);
    return el(
      'user',
      { jid: attrs.jid, t: seconds() },
      bundle ? bundleNodes(bundle) : [el('error', { code: 404, text: 'item-not-found' })],
    );
  });
  return [el('list', {}, users)];
}

function bundleOf(world: World, jid: string): Bundle | undefined {
  if (isOwn(world, jid) && device(jid) > 0) {
    const companion = world.companions.get(device(jid));
    return companion?.removed ? undefined : companion?.bundle();
  }
  return device(jid) === 0 ? handsetOf(world, jid)?.signal.bundle() : undefined;
}

function bundleNodes({ registrationId, identity, signedPreKey, preKey }: Bundle): Stanza[] {
  const oneTime = preKey
    ? [el('key', {}, [el('id', {}, bigEndian(preKey.id, 3)), el('value', {}, preKey.public)])]
    : [];
  return [
    el('registration', {}, bigEndian(registrationId, 4)),
    el('type', {}, Buffer.from([5])),
    el('identity', {}, identity),
    signedKeyNode(signedPreKey),
    ...oneTime,
  ];
}
