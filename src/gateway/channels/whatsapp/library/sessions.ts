import { createRequire } from 'node:module';

interface Session {
  serialize(): object;
  constructor: { deserialize(data: object): Session };
}
interface Libsignal {
  SessionCipher: {
    prototype: { doDecryptWhisperMessage(message: Buffer, session: Session | undefined): Promise<Buffer> };
  };
}

let guarded = false;

/**
 * Leaves a session unchanged when an attempt to decrypt fails. libsignal tries a message on every session with a
 * device, advances each ratchet before it checks the MAC, and stores all of them when one fits. So a message that its
 * author encrypted before knowing our newest session would ruin that session, and nobody could read what is sent in it.
 * Affects the libsignal that Baileys uses, in the whole process.
 */
export function guardSessions(): void {
  if (guarded) return;
  guarded = true;
  const { resolve } = createRequire(import.meta.url);
  const { prototype } = (createRequire(resolve('@whiskeysockets/baileys'))('libsignal') as Libsignal).SessionCipher;
  const decrypt = prototype.doDecryptWhisperMessage;
  prototype.doDecryptWhisperMessage = async function (message, session) {
    const before = session?.serialize();
    try {
      return await decrypt.call(this, message, session);
    } catch (error) {
      if (session && before) Object.assign(session, session.constructor.deserialize(before));
      throw error;
    }
  };
}
