import type { proto } from '@whiskeysockets/baileys';
import type { Stanza } from './stanza.ts';

/** Everything that the server has seen or sent, in order. Times are milliseconds since the epoch. */

export interface Login {
  kind: 'login';
  at: number;
  device: number;
  outcome: 'accepted' | 'refused' | 'replaced';
  reason: string | null;
  version: string;
  routingInfo: Buffer | null;
}

/** What became of one copy of a message, encrypted for one device (or for a group by its sender key). */
export interface Decryption {
  to: string;
  type: string;
  text: string | null;
  message: proto.IMessage | null;
  error: string | null;
}

/** One message stanza of the client; the same id may be seen many times. */
export interface SeenMessage {
  kind: 'message';
  at: number;
  device: number;
  id: string;
  to: string;
  type: string;
  edit: string | null;
  participants: string[];
  decrypted: Decryption[];
  ack: 'sent' | 'dropped' | number;
  stanza: Stanza;
}

export interface SeenStanza {
  kind: 'receipt' | 'iq' | 'presence' | 'chatstate' | 'ack' | 'call' | 'ib' | 'other';
  at: number;
  device: number | null;
  stanza: Stanza;
}

/** A stanza that was written to a client; `offline` when it had waited for the login. */
export interface Delivered {
  kind: 'delivered';
  at: number;
  device: number;
  offline: boolean;
  stanza: Stanza;
}

export interface Problem {
  kind: 'problem';
  at: number;
  what: string;
}

export type LedgerEntry = Login | SeenMessage | SeenStanza | Delivered | Problem;

export class Ledger {
  readonly entries: LedgerEntry[] = [];

  record<T extends LedgerEntry>(entry: T): T {
    this.entries.push(entry);
    return entry;
  }
  problem(what: string): void {
    this.record({ kind: 'problem', at: Date.now(), what });
  }

  #of<K extends LedgerEntry['kind']>(kind: K): Extract<LedgerEntry, { kind: K }>[] {
    return this.entries.filter((entry) => entry.kind === kind) as Extract<LedgerEntry, { kind: K }>[];
  }
  #stanzas(kind: SeenStanza['kind']): SeenStanza[] {
    return this.entries.filter((entry): entry is SeenStanza => entry.kind === kind);
  }

  get logins(): Login[] {
    return this.#of('login');
  }
  get messages(): SeenMessage[] {
    return this.#of('message');
  }
  get delivered(): Delivered[] {
    return this.#of('delivered');
  }
  get problems(): Problem[] {
    return this.#of('problem');
  }
  get receipts(): SeenStanza[] {
    return this.#stanzas('receipt');
  }
  get iqs(): SeenStanza[] {
    return this.#stanzas('iq');
  }
  get acks(): SeenStanza[] {
    return this.#stanzas('ack');
  }
  /** presence (available, unavailable) and chat states (composing, paused) */
  get presences(): SeenStanza[] {
    return this.entries.filter((entry): entry is SeenStanza => entry.kind === 'presence' || entry.kind === 'chatstate');
  }
  get calls(): SeenStanza[] {
    return this.#stanzas('call');
  }

  /** How often a message id of the client was on the wire. */
  timesSeen(id: string): number {
    return this.messages.filter((message) => message.id === id).length;
  }
  /** The copies of the client's messages that their recipient could not decrypt, resends of the same id included. */
  get undecryptable(): { id: string; to: string; error: string }[] {
    return this.messages.flatMap(({ id, decrypted }) =>
      decrypted.flatMap(({ to, error }) => (error ? [{ id, to, error }] : [])),
    );
  }
  /** The client's own complaints: retry receipts, and acks that carry an error. */
  get complaints(): SeenStanza[] {
    return [
      ...this.receipts.filter(({ stanza }) => stanza.attrs.type === 'retry'),
      ...this.acks.filter(({ stanza }) => stanza.attrs.error),
    ];
  }
}
