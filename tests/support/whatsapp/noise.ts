import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import { agree, type KeyPair, keyPair, sign } from './curve.ts';

/**
 * Noise_XX_25519_AESGCM_SHA256, the responder's half, with WhatsApp's certificate chain as the payload of the server
 * hello.
 */

export const NOISE_HEADER = Buffer.from([0x57, 0x41, 0x06, 0x03]);
const PROTOCOL = Buffer.from('Noise_XX_25519_AESGCM_SHA256\0\0\0\0');
const TAG_BYTES = 16;
const NOTHING = Buffer.alloc(0);

/** A server's long-lived noise key, and the chain root -> intermediate -> leaf that vouches for it. */
export interface NoiseServerIdentity {
  rootPublicKey: Buffer;
  key: KeyPair;
  chain: Uint8Array;
}

export function noiseServerIdentity(): NoiseServerIdentity {
  const root = keyPair();
  const intermediate = keyPair();
  const key = keyPair();
  const notBefore = Math.floor(Date.now() / 1000) - 3600;
  const validity = { notBefore, notAfter: notBefore + 400 * 86_400 };
  const Details = proto.CertChain.NoiseCertificate.Details;
  const middle = Details.encode({ serial: 1, issuerSerial: 0, key: intermediate.public, ...validity }).finish();
  const leaf = Details.encode({ serial: 2, issuerSerial: 1, key: key.public, ...validity }).finish();
  const chain = proto.CertChain.encode({
    intermediate: { details: middle, signature: sign(root, middle) },
    leaf: { details: leaf, signature: sign(intermediate, leaf) },
  }).finish();
  return { rootPublicKey: root.public, key, chain };
}

function nonce(counter: number): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(counter, 8);
  return iv;
}

function seal(key: Buffer, counter: number, aad: Buffer, plaintext: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce(counter)).setAAD(aad);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Buffer, counter: number, aad: Buffer, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce(counter))
    .setAAD(aad)
    .setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES)), decipher.final()]);
}

/**
 * What the two sides speak after the handshake; each direction has its key and counter. Throws on a forged or reordered
 * frame.
 */
export class NoiseTransport {
  readonly #incoming: Buffer;
  readonly #outgoing: Buffer;
  #received = 0;
  #sent = 0;
  constructor(incoming: Buffer, outgoing: Buffer) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }
  encrypt(plaintext: Uint8Array): Buffer {
    return seal(this.#outgoing, this.#sent++, NOTHING, plaintext);
  }
  decrypt(sealed: Uint8Array): Buffer {
    return open(this.#incoming, this.#received++, NOTHING, sealed);
  }
}

/**
 * One handshake: `answer` the client hello, then `finish` with the client's. Throws on bytes that are not a proper
 * handshake.
 */
export class NoiseResponder {
  readonly #identity: NoiseServerIdentity;
  readonly #ephemeral = keyPair();
  #hash: Buffer = PROTOCOL;
  #chainingKey: Buffer = PROTOCOL;
  #key: Buffer = PROTOCOL;
  #counter = 0;

  constructor(identity: NoiseServerIdentity) {
    this.#identity = identity;
    this.#mixHash(NOISE_HEADER);
  }

  answer(clientHello: Uint8Array): Uint8Array {
    const theirs = proto.HandshakeMessage.decode(clientHello).clientHello?.ephemeral;
    if (theirs?.length !== 32) throw new Error('the client hello has no ephemeral key');
    this.#mixHash(theirs);
    this.#mixHash(this.#ephemeral.public);
    this.#mixKey(agree(this.#ephemeral, theirs));
    const encryptedStatic = this.#encrypt(this.#identity.key.public);
    this.#mixKey(agree(this.#identity.key, theirs));
    const payload = this.#encrypt(this.#identity.chain);
    return proto.HandshakeMessage.encode({
      serverHello: { ephemeral: this.#ephemeral.public, static: encryptedStatic, payload },
    }).finish();
  }

  finish(clientFinish: Uint8Array): { clientStatic: Buffer; payload: proto.ClientPayload; transport: NoiseTransport } {
    const message = proto.HandshakeMessage.decode(clientFinish).clientFinish;
    if (!message?.static || !message.payload) throw new Error('the client finish lacks its static key or its payload');
    const clientStatic = this.#decrypt(message.static);
    this.#mixKey(agree(this.#ephemeral, clientStatic));
    const payload = proto.ClientPayload.decode(this.#decrypt(message.payload));
    const [incoming, outgoing] = this.#derive(NOTHING);
    return { clientStatic, payload, transport: new NoiseTransport(incoming, outgoing) };
  }

  #mixHash(data: Uint8Array): void {
    this.#hash = createHash('sha256').update(this.#hash).update(data).digest();
  }
  #derive(material: Buffer): [Buffer, Buffer] {
    const bytes = Buffer.from(hkdfSync('sha256', material, this.#chainingKey, '', 64));
    return [bytes.subarray(0, 32), bytes.subarray(32)];
  }
  #mixKey(material: Buffer): void {
    [this.#chainingKey, this.#key] = this.#derive(material);
    this.#counter = 0;
  }
  #encrypt(plaintext: Uint8Array): Buffer {
    const sealed = seal(this.#key, this.#counter++, this.#hash, plaintext);
    this.#mixHash(sealed);
    return sealed;
  }
  #decrypt(sealed: Uint8Array): Buffer {
    const plaintext = open(this.#key, this.#counter++, this.#hash, sealed);
    this.#mixHash(sealed);
    return plaintext;
  }
}
