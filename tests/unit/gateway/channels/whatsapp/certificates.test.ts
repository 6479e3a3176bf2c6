import * as baileys from '@whiskeysockets/baileys';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { quietLogger } from '../../../../../src/gateway/channels/whatsapp/library/baileys.ts';
import { guardCertificates } from '../../../../../src/gateway/channels/whatsapp/library/certificates.ts';
import { keyPair, sign } from '../../../../support/whatsapp/curve.ts';
import {
  NOISE_HEADER,
  NoiseResponder,
  type NoiseServerIdentity,
  noiseServerIdentity,
} from '../../../../support/whatsapp/noise.ts';

/** Whom the client of WhatsApp takes for WhatsApp. */

const log = quietLogger(pino({ level: 'silent' }));
const known = noiseServerIdentity();
// as it is before anything checks it
const decode = baileys.proto.CertChain.decode.bind(baileys.proto.CertChain);

beforeAll(() => {
  guardCertificates(baileys);
  baileys.WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(known.rootPublicKey);
});

/** The first half of a handshake with a server: the client looks at its certificate, and throws or answers. */
function greet(server: NoiseServerIdentity): void {
  const ephemeral = baileys.Curve.generateKeyPair();
  const client = baileys.makeNoiseHandler({ keyPair: ephemeral, NOISE_HEADER, logger: log });
  const hello = baileys.proto.HandshakeMessage.encode({ clientHello: { ephemeral: ephemeral.public } }).finish();
  client.processHandshake(
    baileys.proto.HandshakeMessage.decode(new NoiseResponder(server).answer(hello)),
    baileys.Curve.generateKeyPair(),
  );
}

describe('a server', () => {
  it('is WhatsApp when its key is signed by the root, any number of times', () => {
    for (let time = 0; time < 3; time++) expect(() => greet(known)).not.toThrow();
  });

  it('is refused when its certificates come from another root', () => {
    expect(() => greet(noiseServerIdentity())).toThrow('not signed by WhatsApp');
  });

  it('is refused when it shows the true certificates and has another key', () => {
    expect(() => greet({ ...known, key: keyPair() })).toThrow('for another key');
  });

  it('is refused when one byte of a signature or of a certificate differs', () => {
    for (const part of ['leaf', 'intermediate'] as const) {
      for (const field of ['details', 'signature'] as const) {
        const { leaf, intermediate } = decode(known.chain);
        const chain = { leaf: { ...leaf }, intermediate: { ...intermediate } };
        chain[part][field] = Buffer.from(chain[part][field]!).fill(chain[part][field]![20]! ^ 1, 20, 21);
        expect(
          () => greet({ ...known, chain: baileys.proto.CertChain.encode(chain).finish() }),
          `${part} ${field}`,
        ).toThrow();
      }
    }
  });
});

it('a signature counts when it is of this key for this text, and not otherwise', () => {
  const [signer, other] = [keyPair(), keyPair()];
  const text = Buffer.from('linked');
  const signature = sign(signer, text);
  expect(baileys.Curve.verify(signer.public, text, signature)).toBe(true);
  expect(baileys.Curve.verify(signer.public, text, signature)).toBe(true);
  expect(baileys.Curve.verify(other.public, text, signature)).toBe(false);
  expect(baileys.Curve.verify(signer.public, Buffer.from('linkeD'), signature)).toBe(false);
  expect(baileys.Curve.verify(signer.public, text, Buffer.alloc(64))).toBe(false);
});
