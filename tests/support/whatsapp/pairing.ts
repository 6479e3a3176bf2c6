import { createCipheriv, createDecipheriv, hkdfSync, pbkdf2Sync, randomBytes } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import { deviceIdentityHolds, signDevice } from './adv.ts';
import { Companion } from './companion.ts';
import type { Connection } from './connection.ts';
import { agree, keyPair, typed, verify } from './curve.ts';
import type { Bundle } from './signal.ts';
import { bytes, child, el, SERVER, type Stanza, seconds, user } from './stanza.ts';
import type { World } from './world.ts';

/** Linking a device: by the QR that it shows, or by the code that is entered on the phone. */

export interface Pairing {
  refs: string[];
  identity: Buffer;
  registrationId: number;
  signedPreKey: Bundle['signedPreKey'];
  /** a client that has asked for a pairing code */
  link: { ref: string; wrapped: Buffer; finished?: (stanza: Stanza) => void } | null;
}

const PBKDF2_ROUNDS = 131_072;
const FINISH_DEADLINE_MS = 10_000;

/** A client without an account: it gets references to show. Throws when its keys are not what they should be. */
export function beginPairing(world: World, connection: Connection, payload: proto.ClientPayload): void {
  const { eRegid, eIdent, eSkeyId, eSkeyVal, eSkeySig } = payload.devicePairingData ?? {};
  if (!eRegid || eIdent?.length !== 32 || !eSkeyId || !eSkeyVal) throw new Error('the registration lacks keys');
  if (!verify(eIdent, eSkeySig, typed(eSkeyVal))) throw new Error('the registration has a badly signed pre-key');
  const refs = Array.from({ length: world.faults.pairingRefs }, () => `2@${randomBytes(24).toString('base64url')}`);
  connection.pairing = {
    refs,
    identity: Buffer.from(eIdent),
    registrationId: Buffer.from(eRegid).readUInt32BE(),
    signedPreKey: {
      id: Buffer.from(eSkeyId).readUIntBE(0, 3),
      public: Buffer.from(eSkeyVal),
      signature: Buffer.from(eSkeySig!),
    },
    link: null,
  };
  const nodes = refs.map((ref) => el('ref', {}, Buffer.from(ref)));
  connection.query(el('iq', { type: 'set', xmlns: 'md' }, [el('pair-device', {}, nodes)])).catch(() => {});
}

/**
 * The phone's camera. Rejects what a phone would: another app's QR, one that has run out, one whose keys are not the
 * client's.
 */
export async function scanQr(world: World, text: string, advSecret?: Buffer): Promise<number> {
  const [ref, noiseKey, identity, secret] = text.slice(text.indexOf('#') + 1).split(',');
  if (!ref || !noiseKey || !identity || !secret) throw new Error('this QR is not for linking a device');
  const connection = [...world.connections].find(({ pairing }) => pairing?.refs.includes(ref));
  if (!connection?.open) throw new Error('no client shows this QR any more');
  if (!connection.clientStatic.equals(Buffer.from(noiseKey, 'base64')))
    throw new Error('the QR has another noise key than the client that shows it');
  if (!connection.pairing!.identity.equals(Buffer.from(identity, 'base64')))
    throw new Error('the QR has another identity than the client that shows it');
  return linkDevice(world, connection, advSecret ?? Buffer.from(secret, 'base64'));
}

async function linkDevice(world: World, connection: Connection, advSecret: Buffer): Promise<number> {
  const { account, phone } = world;
  const { identity, registrationId, signedPreKey } = connection.pairing!;
  const device = world.companions.size + 1;
  const companion = new Companion(
    device,
    account,
    { identity, registrationId, signedPreKey, noiseKey: connection.clientStatic },
    world.ledger,
    world.hooks,
  );
  const success = el('pair-success', {}, [
    el('device-identity', {}, signDevice(phone.signal.identity, identity, device, advSecret)),
    el('device', { jid: companion.jid, lid: companion.lid }),
    el('platform', { name: 'android' }),
  ]);
  const answer = await connection.query(el('iq', { type: 'set', xmlns: 'md', t: seconds() }, [success]));
  const signed = bytes(child(answer, 'pair-device-sign', 'device-identity'));
  if (!deviceIdentityHolds(signed, phone.signal.identity.public, identity))
    throw new Error('the client did not sign its place in the account');
  world.companions.set(device, companion);
  world.hooks.emit('linked', companion);
  connection.send(el('stream:error', { code: 515 }));
  connection.close();
  return device;
}

/** A client asks to be linked by a code, or has been given the right one. Returns the answer to its iq. */
export function answerLinkCode(
  world: World,
  connection: Connection,
  registration: Stanza,
): Stanza[] | { code: number; text: string } {
  const pairing = connection.pairing;
  if (!pairing) return { code: 400, text: 'bad-request' };
  if (registration.attrs.stage === 'companion_hello') {
    if (user(registration.attrs.jid) !== user(world.account.pn)) return { code: 404, text: 'item-not-found' };
    const ref = randomBytes(16).toString('base64url');
    pairing.link = { ref, wrapped: bytes(child(registration, 'link_code_pairing_wrapped_companion_ephemeral_pub')) };
    return [
      el('link_code_companion_reg', { stage: 'companion_hello' }, [el('link_code_pairing_ref', {}, Buffer.from(ref))]),
    ];
  }
  if (bytes(child(registration, 'link_code_pairing_ref')).toString() !== pairing.link?.ref)
    return { code: 404, text: 'item-not-found' };
  pairing.link.finished?.(registration);
  return [];
}

export async function enterPairingCode(world: World, code: string): Promise<number> {
  const connection = [...world.connections].find(({ pairing, open }) => open && pairing?.link);
  if (!connection) throw new Error('no client waits for a code');
  const { pairing } = connection;
  const { link, identity } = pairing!;
  const ephemeral = keyPair();
  const theirs = unwrap(code, link!.wrapped);
  const finished = new Promise<Stanza>((resolve, reject) => {
    link!.finished = resolve;
    setTimeout(() => reject(new Error('the client did not finish the pairing by code')), FINISH_DEADLINE_MS).unref();
  });
  const hello = el('link_code_companion_reg', { stage: 'primary_hello' }, [
    el('link_code_pairing_wrapped_primary_ephemeral_pub', {}, wrap(code, ephemeral.public)),
    el('primary_identity_pub', {}, world.phone.signal.identity.public),
    el('link_code_pairing_ref', {}, Buffer.from(link!.ref)),
  ]);
  connection.send(
    el(
      'notification',
      { id: randomBytes(6).toString('hex'), from: SERVER, type: 'link_code_companion_reg', t: seconds() },
      [hello],
    ),
  );
  const bundle = bytes(child(await finished, 'link_code_pairing_wrapped_key_bundle'));
  const shared = agree(ephemeral, theirs);
  const key = Buffer.from(
    hkdfSync('sha256', shared, bundle.subarray(0, 32), 'link_code_pairing_key_bundle_encryption_key', 32),
  );
  const gcm = createDecipheriv('aes-256-gcm', key, bundle.subarray(32, 44)).setAuthTag(bundle.subarray(-16));
  let plain: Buffer;
  try {
    plain = Buffer.concat([gcm.update(bundle.subarray(44, -16)), gcm.final()]);
  } catch {
    throw new Error('the code is not the one that the client shows');
  }
  if (!plain.subarray(0, 32).equals(identity)) throw new Error('the key bundle is of another client');
  if (!plain.subarray(32, 64).equals(world.phone.signal.identity.public))
    throw new Error('the key bundle is for another phone');
  const material = Buffer.concat([shared, agree(world.phone.signal.identity, identity), plain.subarray(64, 96)]);
  return linkDevice(world, connection, Buffer.from(hkdfSync('sha256', material, '', 'adv_secret', 32)));
}

const codeKey = (code: string, salt: Buffer): Buffer => pbkdf2Sync(code, salt, PBKDF2_ROUNDS, 32, 'sha256');

function unwrap(code: string, wrapped: Buffer): Buffer {
  const aes = createDecipheriv('aes-256-ctr', codeKey(code, wrapped.subarray(0, 32)), wrapped.subarray(32, 48));
  return aes.update(wrapped.subarray(48, 80));
}

function wrap(code: string, key: Buffer): Buffer {
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  return Buffer.concat([salt, iv, createCipheriv('aes-256-ctr', codeKey(code, salt), iv).update(key)]);
}
