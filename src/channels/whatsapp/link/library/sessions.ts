import { createRequire } from 'node:module';

interface Session {
  serialize(): object;
  constructor: { deserialize(data: object): Session };
}
interface Libsignal {
  SessionCipher: { prototype: { doDecryptWhisperMessage(message: Buffer, session: Session | undefined): Promise<Buffer> } };
}

let guarded = false;

/**
 * Makes an attempt to decrypt leave a session as it was when it fails. libsignal tries a message on every session that it has with
 * a device, steps the ratchet of each before it checks the MAC, and stores them all when one of them fits: a message that its
 * author encrypted before knowing of our newest session would ruin that session, and nothing that is sent in it could be read.
 * Process-wide, of the libsignal that Baileys uses.
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
