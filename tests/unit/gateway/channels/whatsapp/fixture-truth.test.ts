import { randomBytes } from 'node:crypto';
import { proto, WA_CERT_DETAILS } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { until } from '../../../../support/until.ts';
import { deviceIdentityHolds, signDevice } from '../../../../support/whatsapp/adv.ts';
import { pairedClient, type TestClient } from '../../../../support/whatsapp/client.ts';
import { keyPair, sign, typed, verify } from '../../../../support/whatsapp/curve.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../../../../support/whatsapp/fixture.ts';
import { FrameReader, frame } from '../../../../support/whatsapp/frames.ts';
import { decryptMedia, encryptMedia } from '../../../../support/whatsapp/media-crypto.ts';
import { NOISE_HEADER, noiseServerIdentity } from '../../../../support/whatsapp/noise.ts';
import { corrupted, type Peer, pad, SignalParty, unpad } from '../../../../support/whatsapp/signal.ts';
import { bigEndian, bytes, child, children, el } from '../../../../support/whatsapp/stanza.ts';

/**
 * A fixture that accepts anything proves nothing: what is forged, damaged or repeated must fail here as it fails on a
 * phone.
 */

const flip = (data: Uint8Array, at = data.length - 1): Buffer => {
  const copy = Buffer.from(data);
  copy[at]! ^= 1;
  return copy;
};
const asPeer = (party: SignalParty, address: string): Peer => ({
  address,
  identity: party.identity.public,
  bundle: () => party.bundle(),
});

describe('Signal', () => {
  const alice = new SignalParty('alice');
  const bob = new SignalParty('bob');
  const toBob = asPeer(bob, 'bob');
  const toAlice = asPeer(alice, 'alice');

  it('refuses damaged, repeated and foreign messages, and goes on afterwards', async () => {
    const first = await alice.encrypt(toBob, Buffer.from('one'));
    await expect(bob.decrypt(toAlice, first.type, corrupted(first).body)).rejects.toThrow();
    await expect(bob.decrypt(asPeer(new SignalParty('eve'), 'eve'), first.type, first.body)).rejects.toThrow(
      'another identity',
    );
    expect((await bob.decrypt(toAlice, first.type, first.body)).toString()).toBe('one');
    const answer = await bob.encrypt(toAlice, Buffer.from('two'));
    expect(answer.type).toBe('msg');
    await expect(alice.decrypt(toBob, answer.type, flip(answer.body))).rejects.toThrow();
    expect((await alice.decrypt(toBob, answer.type, answer.body)).toString()).toBe('two');
    await expect(alice.decrypt(toBob, answer.type, answer.body)).rejects.toThrow();
    const third = await alice.encrypt(toBob, Buffer.from('three'));
    expect((await bob.decrypt(toAlice, third.type, third.body)).toString()).toBe('three');
  });

  it('starts no session from keys that their identity has not signed', async () => {
    const bundle = bob.bundle();
    const forged = { ...bundle, signedPreKey: { ...bundle.signedPreKey, public: keyPair().public } };
    await expect(alice.startSession(toBob, forged)).rejects.toThrow('badly signed');
    await expect(alice.startSession(toBob, { ...bundle, identity: keyPair().public })).rejects.toThrow(
      'another identity',
    );
  });

  it('reads group messages only with the author’s key, unchanged and once', async () => {
    const body = await alice.senderKeys.encrypt('g', pad(Buffer.from('to all')));
    await expect(bob.senderKeys.decrypt('g', 'alice', body)).rejects.toThrow();
    await bob.senderKeys.accept('g', 'alice', await alice.senderKeys.distribution('g'));
    const next = await alice.senderKeys.encrypt('g', pad(Buffer.from('to all')));
    await expect(bob.senderKeys.decrypt('g', 'alice', flip(next))).rejects.toThrow('signature');
    expect(unpad(await bob.senderKeys.decrypt('g', 'alice', next)).toString()).toBe('to all');
    await expect(bob.senderKeys.decrypt('g', 'alice', next)).rejects.toThrow();
  });
});

describe('signatures, media and frames', () => {
  it('tells a real signature from any other 64 bytes', () => {
    const signer = keyPair();
    const signature = sign(signer, Buffer.from('text'));
    expect(verify(signer.public, signature, Buffer.from('text'))).toBe(true);
    expect(verify(signer.public, signature, Buffer.from('test'))).toBe(false);
    expect(verify(keyPair().public, signature, Buffer.from('text'))).toBe(false);
    expect(verify(signer.public, randomBytes(64), Buffer.from('text'))).toBe(false);
  });

  it('vouches for the server by a chain that only its root verifies', () => {
    const identity = noiseServerIdentity();
    const { intermediate, leaf } = proto.CertChain.decode(identity.chain);
    const details = proto.CertChain.NoiseCertificate.Details.decode(intermediate!.details!);
    expect(details.issuerSerial).toBe(WA_CERT_DETAILS.SERIAL);
    expect(verify(identity.rootPublicKey, intermediate!.signature, intermediate!.details!)).toBe(true);
    expect(verify(details.key!, leaf!.signature, leaf!.details!)).toBe(true);
    expect(verify(noiseServerIdentity().rootPublicKey, intermediate!.signature, intermediate!.details!)).toBe(false);
  });

  it('needs both signatures under a linked device', () => {
    const account = keyPair();
    const device = keyPair();
    const sealed = proto.ADVSignedDeviceIdentityHMAC.decode(signDevice(account, device.public, 1, randomBytes(32)));
    const signed = proto.ADVSignedDeviceIdentity.decode(sealed.details!);
    const holds = (deviceSignature: Buffer | undefined) =>
      deviceIdentityHolds(
        proto.ADVSignedDeviceIdentity.encode({ ...signed, deviceSignature }).finish(),
        account.public,
        device.public,
      );
    const own = sign(device, Buffer.from([6, 1]), signed.details!, device.public, account.public);
    expect(holds(own)).toBe(true);
    expect(holds(sign(account, Buffer.from([6, 1]), signed.details!, device.public, account.public))).toBe(false);
    expect(holds(undefined)).toBe(false);
  });

  it('refuses a file with another hash, MAC or length', () => {
    const plain = randomBytes(5000);
    const file = encryptMedia(plain, 'image');
    expect(decryptMedia(file.blob, 'image', file).equals(plain)).toBe(true);
    expect(() => decryptMedia(flip(file.blob), 'image', file)).toThrow('hash');
    expect(() => decryptMedia(flip(file.blob), 'image', { ...file, fileEncSha256: null })).toThrow('MAC');
    expect(() => decryptMedia(file.blob, 'image', { ...file, fileSha256: randomBytes(32) })).toThrow('hash');
    expect(() => decryptMedia(file.blob, 'image', { ...file, fileLength: 4999 })).toThrow('length');
    expect(() => decryptMedia(file.blob, 'video', file)).toThrow('MAC');
  });

  it('cuts frames out of any chunks, and refuses another protocol', () => {
    const bodies = [randomBytes(0), randomBytes(1), randomBytes(7_000)];
    const routing = Buffer.concat([Buffer.from('ED'), Buffer.from([0, 1]), bigEndian(4, 3), Buffer.from([1, 2, 3, 4])]);
    const stream = Buffer.concat([routing, NOISE_HEADER, ...bodies.map(frame)]);
    for (const size of [1, 7, 1000, stream.length]) {
      const reader = new FrameReader();
      const read: Buffer[] = [];
      for (let at = 0; at < stream.length; at += size) read.push(...reader.push(stream.subarray(at, at + size)));
      expect(read.map(({ length }) => length)).toEqual([0, 1, 7_000]);
      expect(reader.routingInfo).toEqual(Buffer.from([1, 2, 3, 4]));
    }
    expect(() => new FrameReader().push(Buffer.from('GET / HTTP/1.1'))).toThrow('introduce');
  });
});

describe('a logged-in client', () => {
  let fixture: WhatsAppFixture;
  let client: TestClient;
  beforeAll(async () => {
    for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {});
    fixture = await startWhatsAppFixture();
    client = await pairedClient(fixture);
  });
  afterAll(async () => {
    client.stop();
    await fixture.close();
    vi.restoreAllMocks();
  });

  it('cannot upload keys that its identity has not signed', async () => {
    const { creds } = client.auth.state;
    const upload = (signature: Uint8Array) =>
      client.sock.query(
        el('iq', { xmlns: 'encrypt', type: 'set', to: '@s.whatsapp.net' }, [
          el('rotate', {}, [
            el('skey', {}, [
              el('id', {}, bigEndian(2, 3)),
              el('value', {}, creds.signedPreKey.keyPair.public),
              el('signature', {}, signature),
            ]),
          ]),
        ]),
      );
    await expect(upload(randomBytes(64))).rejects.toThrow('not-acceptable');
    const own = {
      public: Buffer.from(creds.signedIdentityKey.public),
      private: Buffer.from(creds.signedIdentityKey.private),
    };
    await upload(sign(own, typed(creds.signedPreKey.keyPair.public)));
  });

  describe('is not believed', () => {
    type Stanza = ReturnType<typeof el>;

    /**
     * Sends what the client itself has encrypted for a contact, changed on its way; resolves with the reasons why it
     * was not read.
     */
    async function tampered(
      name: string,
      change: (stanza: Stanza) => void,
      session: 'new' | 'established',
    ): Promise<string[]> {
      fixture.faults.askAgain = false;
      const contact = fixture.contact(name);
      if (session === 'established') await client.message((await contact.send('hello')).id);
      await client.sock.assertSessions([contact.lid], false);
      const { nodes } = await client.sock.createParticipantNodes([contact.lid], { conversation: 'x' });
      const identity = proto.ADVSignedDeviceIdentity.encode(client.auth.state.creds.account!).finish();
      const id = `TAMPERED-${name}`;
      const stanza = el('message', { id, to: contact.lid, type: 'text' }, [
        el('participants', {}, nodes),
        el('device-identity', {}, identity),
      ]);
      change(stanza);
      await client.sock.sendNode(stanza);
      const seen = await until(
        'it is judged',
        () => fixture.ledger.messages.find((message) => message.id === id && message.decrypted.length > 0),
        5_000,
      );
      expect(contact.message(id)).toBeUndefined();
      return seen.decrypted.map(({ error }) => error ?? 'no error');
    }
    const flipLeaf = (leaf: Stanza) => {
      leaf.content = flip(bytes(leaf));
    };

    it('without its device identity', async () => {
      const drop = (stanza: Stanza) => {
        stanza.content = children(stanza).filter(({ tag }) => tag !== 'device-identity');
      };
      expect(await tampered('Ann', drop, 'new')).toEqual(['the device identity is missing or badly signed']);
    });

    it('with another device identity', async () => {
      const forge = (stanza: Stanza) => flipLeaf(child(stanza, 'device-identity')!);
      expect(await tampered('Ben', forge, 'new')).toEqual(['the device identity is missing or badly signed']);
    });

    it('with changed bytes', async () => {
      const damage = (stanza: Stanza) => flipLeaf(child(stanza, 'participants', 'to', 'enc')!);
      expect(await tampered('Cid', damage, 'established')).toEqual([expect.stringMatching(/MAC/i)]);
    });
  });
});
