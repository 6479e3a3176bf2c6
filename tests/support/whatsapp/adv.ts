import { createHmac } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import { type KeyPair, sign, verify } from './curve.ts';

/** The account's signature under a linked device, and the device's own under it. */

const ACCOUNT_PREFIX = Buffer.from([6, 0]);
const DEVICE_PREFIX = Buffer.from([6, 1]);

/** What the phone gives a new device: its place in the account, signed, and sealed with the secret from the QR. */
export function signDevice(account: KeyPair, deviceIdentity: Buffer, keyIndex: number, advSecret: Buffer): Uint8Array {
  const timestamp = Math.floor(Date.now() / 1000);
  const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp, keyIndex, deviceType: 0 }).finish();
  const accountSignature = sign(account, ACCOUNT_PREFIX, details, deviceIdentity);
  const signed = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: account.public,
    accountSignature,
  }).finish();
  const hmac = createHmac('sha256', advSecret).update(signed).digest();
  return proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish();
}

/** True when both the account's and the device's own signature are right; `signed` as it comes from the client. */
export function deviceIdentityHolds(signed: Uint8Array, account: Buffer, deviceIdentity: Buffer): boolean {
  const { details, accountSignature, deviceSignature } = proto.ADVSignedDeviceIdentity.decode(signed);
  if (!details) return false;
  return (
    verify(account, accountSignature, ACCOUNT_PREFIX, details, deviceIdentity) &&
    verify(deviceIdentity, deviceSignature, DEVICE_PREFIX, details, deviceIdentity, account)
  );
}
