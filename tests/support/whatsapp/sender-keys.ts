import {
  GroupCipher,
  GroupSessionBuilder,
  SenderKeyDistributionMessage,
  SenderKeyName,
  SenderKeyRecord,
} from '@whiskeysockets/baileys/lib/Signal/Group/index.js';

/** The sender keys that one device has made for its groups, and those that others have given it. */
export class SenderKeys {
  readonly #own: string;
  readonly #records = new Map<string, Uint8Array>();
  readonly #store = {
    loadSenderKey: async (name: SenderKeyName): Promise<SenderKeyRecord> => {
      const stored = this.#records.get(name.toString());
      return stored ? SenderKeyRecord.deserialize(stored) : new SenderKeyRecord();
    },
    storeSenderKey: async (name: SenderKeyName, record: SenderKeyRecord): Promise<void> => {
      this.#records.set(name.toString(), Buffer.from(JSON.stringify(record.serialize())));
    },
  };

  readonly #given = new Set<string>();

  constructor(own: string) {
    this.#own = own;
  }

  /** What a member needs to read this device's messages in the group from now on. */
  async distribution(group: string): Promise<Uint8Array> {
    return (await new GroupSessionBuilder(this.#store).create(this.#name(group, this.#own))).serialize();
  }

  /** True the first time: this device must get the key. */
  markGiven(group: string, device: string): boolean {
    const before = this.#given.size;
    return this.#given.add(`${group}|${device}`).size > before;
  }

  async accept(group: string, author: string, distribution: Uint8Array): Promise<void> {
    const message = new SenderKeyDistributionMessage(null, null, null, null, distribution);
    await new GroupSessionBuilder(this.#store).process(this.#name(group, author), message);
  }

  async encrypt(group: string, padded: Uint8Array): Promise<Buffer> {
    await this.distribution(group);
    return Buffer.from(await new GroupCipher(this.#store, this.#name(group, this.#own)).encrypt(padded));
  }

  /** The padded plaintext. Throws without the author's key, on a wrong signature and on an old counter. */
  async decrypt(group: string, author: string, body: Uint8Array): Promise<Buffer> {
    return Buffer.from(await new GroupCipher(this.#store, this.#name(group, author)).decrypt(body));
  }

  #name(group: string, author: string): SenderKeyName {
    return new SenderKeyName(group, { id: author, deviceId: 0, toString: () => `${author}.0` });
  }
}
