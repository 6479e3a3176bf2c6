import type { EventEmitter } from 'node:events';
import type { Connection } from './connection.ts';
import type { Ledger } from './ledger.ts';
import type { Bundle, Peer } from './signal.ts';
import { el, SERVER, type Stanza, seconds, user } from './stanza.ts';

/** A stanza that waits for the client's receipt or ack. */
export interface Pending {
  stanza: Stanza;
  /** how often it was written to a socket */
  writes: number;
  /** what belongs to the first login is sent again after the offline mark, never as part of the offline queue */
  bootstrap: boolean;
}

export interface CompanionKeys {
  identity: Buffer;
  registrationId: number;
  signedPreKey: Bundle['signedPreKey'];
  noiseKey: Buffer;
}

const LOW_PRE_KEYS = 5;

/**
 * A linked device as the server knows it: keys, undelivered stanzas, and the socket when there is one. It outlives the
 * client's process.
 */
export class Companion implements Peer {
  readonly device: number;
  readonly jid: string;
  readonly lid: string;
  readonly keys: CompanionKeys;
  readonly address: string;
  readonly preKeys = new Map<number, Buffer>();
  readonly queue: Pending[] = [];
  connection: Connection | null = null;
  /** past the `active` request of a login: deliveries go out at once */
  active = false;
  removed = false;
  bootstrapped = false;
  held = false;
  readonly #ledger: Ledger;
  readonly #hooks: EventEmitter;

  constructor(
    device: number,
    account: { pn: string; lid: string },
    keys: CompanionKeys,
    ledger: Ledger,
    hooks: EventEmitter,
  ) {
    this.device = device;
    this.jid = `${user(account.pn)}:${device}@${SERVER}`;
    this.lid = `${user(account.lid)}:${device}@lid`;
    this.address = `${user(account.pn)}:${device}`;
    this.keys = keys;
    this.#ledger = ledger;
    this.#hooks = hooks;
  }

  get identity(): Buffer {
    return this.keys.identity;
  }

  /** Keys for one new session; the client is told when its one-time keys run low, as the server tells it. */
  bundle(): Bundle {
    const [first] = this.preKeys;
    if (first) this.preKeys.delete(first[0]);
    if (this.preKeys.size === LOW_PRE_KEYS - 1) {
      this.deliver(
        el('notification', { id: `low-${Date.now()}`, from: SERVER, type: 'encrypt', t: seconds() }, [
          el('count', { value: this.preKeys.size }),
        ]),
      );
    }
    const { identity, registrationId, signedPreKey } = this.keys;
    return { identity, registrationId, signedPreKey, ...(first && { preKey: { id: first[0], public: first[1] } }) };
  }

  deliver(stanza: Stanza, bootstrap = false): void {
    const pending: Pending = { stanza, writes: 0, bootstrap };
    this.queue.push(pending);
    if (this.active && !this.held) this.#write(pending, false);
  }

  /** What waited is sent with the `offline` mark, then the mark that says how much it was. */
  drain(): void {
    this.active = true;
    if (this.held) return;
    const waiting = this.queue.filter((pending) => !pending.bootstrap);
    for (const pending of waiting) this.#write(pending, true);
    this.connection?.send(el('ib', { from: SERVER }, [el('offline', { count: waiting.length })]));
    for (const pending of this.queue.filter(({ bootstrap }) => bootstrap)) this.#write(pending, false);
  }

  /** Held stanzas go out as live ones. */
  hold(held: boolean): void {
    this.held = held;
    if (!held && this.active)
      for (const pending of this.queue.filter(({ writes }) => writes === 0)) this.#write(pending, false);
  }

  offlinePreview(): Stanza | null {
    if (!this.queue.length) return null;
    const count = (tag: string) => this.queue.filter(({ stanza }) => stanza.tag === tag).length;
    const counts = {
      count: this.queue.length,
      message: count('message'),
      notification: count('notification'),
      receipt: count('receipt'),
      call: count('call'),
    };
    return el('ib', { from: SERVER }, [el('offline_preview', counts)]);
  }

  /** The client has taken a stanza: it leaves the queue. `from` is whom the client answers, as far as it says. */
  settle(tag: string, id: string | undefined, from: string | undefined, type?: string): boolean {
    const at = this.queue.findIndex(
      ({ stanza, writes }) =>
        writes > 0 &&
        stanza.tag === tag &&
        stanza.attrs.id === id &&
        (!from || user(stanza.attrs.from) === user(from)) &&
        (tag !== 'receipt' || stanza.attrs.type === type),
    );
    if (at < 0) return false;
    const [pending] = this.queue.splice(at, 1);
    this.#hooks.emit('settled', pending!.stanza, this);
    return true;
  }

  #write(pending: Pending, offline: boolean): void {
    if (!this.connection?.open) return;
    pending.writes++;
    const stanza = offline ? { ...pending.stanza, attrs: { ...pending.stanza.attrs, offline: '1' } } : pending.stanza;
    this.#ledger.record({ kind: 'delivered', at: Date.now(), device: this.device, offline, stanza });
    this.connection.send(stanza);
    this.#hooks.emit('delivered', stanza, this);
  }
}
