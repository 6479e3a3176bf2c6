import { pino } from 'pino';
import { silenceConsole } from '../../../src/gateway/channels/whatsapp/library/silence.ts';

/** A process that opens and closes a Signal session, as Baileys does at every identity change: what does it print? */
if (process.argv[2] === 'silenced') silenceConsole(pino({ level: 'trace' }, pino.destination({ dest: 2, sync: true })));
const libsignal = (await import('libsignal')) as unknown as {
  keyhelper: {
    generateIdentityKeyPair(): KeyPair;
    generateSignedPreKey(identity: KeyPair, id: number): { keyId: number; keyPair: KeyPair; signature: Buffer };
  };
  SessionBuilder: new (storage: unknown, address: unknown) => { initOutgoing(bundle: unknown): Promise<void> };
  SessionRecord: { deserialize(data: unknown): unknown };
  ProtocolAddress: new (name: string, device: number) => unknown;
};
interface KeyPair {
  pubKey: Buffer;
  privKey: Buffer;
}
const mine = libsignal.keyhelper.generateIdentityKeyPair();
const theirs = libsignal.keyhelper.generateIdentityKeyPair();
const signed = libsignal.keyhelper.generateSignedPreKey(theirs, 1);
let record: { getOpenSession(): unknown; closeSession(session: unknown): void } | undefined;
const storage = {
  isTrustedIdentity: () => true,
  loadSession: async () => record,
  storeSession: async (_: string, stored: typeof record) => {
    record = stored;
  },
  getOurIdentity: () => mine,
  getOurRegistrationId: () => 1,
};
await new libsignal.SessionBuilder(storage, new libsignal.ProtocolAddress('bob', 0)).initOutgoing({
  registrationId: 2,
  identityKey: theirs.pubKey,
  signedPreKey: { keyId: 1, publicKey: signed.keyPair.pubKey, signature: signed.signature },
});
record!.closeSession(record!.getOpenSession());
