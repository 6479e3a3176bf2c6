import { createRequire } from 'node:module';

/** X25519 agreement and XEdDSA signatures. Public keys are 32 bytes here; `typed` adds Signal's type byte 05. */
export interface KeyPair {
  public: Buffer;
  private: Buffer;
}

interface LibsignalCurve {
  generateKeyPair(): { pubKey: Buffer; privKey: Buffer };
  calculateAgreement(publicKey: Buffer, privateKey: Buffer): Buffer;
  calculateSignature(privateKey: Buffer, message: Buffer): Buffer;
  verifySignature(publicKey: Buffer, message: Buffer, signature: Buffer): boolean;
}

const curve = createRequire(import.meta.url)('libsignal/src/curve.js') as LibsignalCurve;

export const typed = (key: Uint8Array): Buffer =>
  key.length === 33 ? Buffer.from(key) : Buffer.concat([Buffer.from([5]), key]);

export function keyPair(): KeyPair {
  const { pubKey, privKey } = curve.generateKeyPair();
  return { public: Buffer.from(pubKey.subarray(1)), private: Buffer.from(privKey) };
}

export const agree = (own: KeyPair, theirs: Uint8Array): Buffer =>
  Buffer.from(curve.calculateAgreement(typed(theirs), own.private));

export const sign = (own: KeyPair, ...parts: Uint8Array[]): Buffer =>
  Buffer.from(curve.calculateSignature(own.private, Buffer.concat(parts)));

/** True only for a real signature: Baileys ignores this boolean, the fixture must not. */
export function verify(signer: Uint8Array, signature: Uint8Array | null | undefined, ...parts: Uint8Array[]): boolean {
  if (signature?.length !== 64) return false;
  // the verification clears the sign bit of the buffer it is given
  return curve.verifySignature(typed(signer), Buffer.concat(parts), Buffer.from(signature));
}
