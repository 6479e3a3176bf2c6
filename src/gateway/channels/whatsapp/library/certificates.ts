import { createRequire } from 'node:module';

type Guarded = Pick<typeof import('@whiskeysockets/baileys'), 'Curve' | 'proto' | 'WA_CERT_DETAILS'>;

interface Libsignal {
  curve: { verifySignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean };
}

/** First byte of a public key in libsignal's form. */
const KEY_TYPE = Buffer.from([5]);
const KEY_BYTES = 32;

let guarded = false;

/**
 * Makes Baileys really check certificates. In 7.0.0-rc14 `Curve.verify` ignores libsignal's result, so any signature
 * passes: that of a server that is not WhatsApp's, and that of the phone's account at pairing. It also never compares
 * the key in the server's certificate with the server's key, so a recorded chain of the true server would pass. Affects
 * the whole process.
 */
export function guardCertificates(baileys: Guarded): void {
  if (guarded) return;
  guarded = true;
  const { resolve } = createRequire(import.meta.url);
  const libsignal = createRequire(resolve('@whiskeysockets/baileys'))('libsignal') as Libsignal;
  const { Curve, proto, WA_CERT_DETAILS } = baileys;

  Curve.verify = (publicKey, message, signature) => {
    try {
      const key = publicKey.length === KEY_BYTES ? Buffer.concat([KEY_TYPE, publicKey]) : publicKey;
      // a copy, because libsignal clears a bit of the signature and would refuse it the second time
      return libsignal.curve.verifySignature(key, message, Buffer.from(signature)) === true;
    } catch {
      return false;
    }
  };

  // The handshake agrees on a secret with the server's static key, and decodes the certificates right after it in the
  // same tick. So the certificates must belong to the key that was agreed with last.
  let agreedWith: Uint8Array | null = null;
  const sharedKey = Curve.sharedKey;
  Curve.sharedKey = (privateKey, publicKey) => {
    agreedWith = publicKey;
    return sharedKey(privateKey, publicKey);
  };
  const decode = proto.CertChain.decode;
  proto.CertChain.decode = (...args: Parameters<typeof decode>) => {
    const chain = decode.apply(proto.CertChain, args);
    const problem = chainProblem(chain, agreedWith);
    if (problem) throw new ForeignServer(problem);
    return chain;
  };

  /**
   * What is wrong with a chain, or null. Validity periods are not checked, because the clocks of phones and of this
   * machine may be wrong.
   */
  function chainProblem(
    { leaf, intermediate }: ReturnType<typeof decode>,
    serverKey: Uint8Array | null,
  ): string | null {
    const { Details } = proto.CertChain.NoiseCertificate;
    if (!leaf?.details || !leaf.signature || !intermediate?.details || !intermediate.signature)
      return 'it shows no certificate';
    const issuer = Details.decode(intermediate.details);
    const subject = Details.decode(leaf.details);
    if (!Curve.verify(WA_CERT_DETAILS.PUBLIC_KEY, intermediate.details, intermediate.signature))
      return 'its certificate is not signed by WhatsApp';
    if (issuer.issuerSerial !== WA_CERT_DETAILS.SERIAL || subject.issuerSerial !== issuer.serial)
      return 'its certificates do not belong together';
    if (!issuer.key || !Curve.verify(issuer.key, leaf.details, leaf.signature))
      return 'its certificate is not signed by WhatsApp';
    if (!serverKey || !subject.key || !Buffer.from(subject.key).equals(serverKey))
      return 'its certificate is for another key';
    return null;
  }
}

/** The server is not WhatsApp, or somebody is in between: nothing is sent to it. */
export class ForeignServer extends Error {
  override readonly name = 'ForeignServer';
  constructor(why: string) {
    super(`The server is not WhatsApp: ${why}.`);
  }
}
