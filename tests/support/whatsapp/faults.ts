import type { Companion } from './companion.ts';
import type { MediaServer } from './media.ts';
import { el, type Stanza } from './stanza.ts';

/** What goes wrong on request, and how phones behave; all switches may be changed while clients run. */
export class Faults {
  /** what the contacts' phones report of a message that they could decrypt */
  receipts = { delivered: true, read: false };
  /** a phone that cannot decrypt asks again, up to five times, as phones do */
  askAgain = true;
  /** a phone sends a message again that the client could not decrypt; one that is off does not */
  resends = true;
  /** what the own phone does when a client asks for an expired file again */
  reupload: 'again' | 'gone' | 'silent' = 'again';
  /** the own phone answers requests for messages that came without content */
  answersPlaceholders = true;
  /** a linked device gets its history and app-state keys at its first login */
  sendsHistory = true;
  /** tell clients their edge routing, which they repeat ahead of the next handshake */
  edgeRouting = true;
  /** pairing references in a row, each of which a client shows as one QR */
  pairingRefs = 6;
  #droppedAcks = 0;
  #lostMessages = 0;
  #ackErrors: number[] = [];
  #iqErrors: { xmlns: string; code: number }[] = [];
  #loginRefusal: number | null = null;
  readonly #lostReceipts = new Set<string>();
  #heldReceipts: [Companion, Stanza][] | null = null;
  readonly #media: MediaServer;
  readonly #companions: () => Iterable<Companion>;

  constructor(media: MediaServer, companions: () => Iterable<Companion>) {
    this.#media = media;
    this.#companions = companions;
  }

  /** The next messages reach their recipients, and the client is not told. */
  dropAcks(count: number): void {
    this.#droppedAcks = count;
  }
  /** The next messages never reach the server: the connection breaks under them, as it does when the client dies. */
  loseMessages(count: number): void {
    this.#lostMessages = count;
  }
  /** The next messages are refused with this code (463, 479, ...) and reach nobody. */
  ackError(code: number, count = 1): void {
    this.#ackErrors = new Array<number>(count).fill(code);
  }
  /** The next requests of a namespace are answered with an error (429, 404, ...). */
  failIq(xmlns: string, code: number, count = 1): void {
    for (let i = 0; i < count; i++) this.#iqErrors.push({ xmlns, code });
  }
  /** Logins and registrations end with this reason (401, 403, 405, 500, 503, ...) until null is given. */
  refuseLogins(reason: number | null): void {
    this.#loginRefusal = reason;
  }
  /** The client's next receipt for this message never arrives: its connection breaks instead. */
  loseReceipt(messageId: string): void {
    this.#lostReceipts.add(messageId);
  }
  losesReceipt(messageId: string | undefined): boolean {
    return messageId !== undefined && this.#lostReceipts.delete(messageId);
  }
  /** Receipts of the phones are kept back; with false they are sent, in order. */
  holdReceipts(hold: boolean): void {
    const held = this.#heldReceipts ?? [];
    this.#heldReceipts = hold ? held : null;
    if (!hold) for (const [companion, receipt] of held) companion.deliver(receipt);
  }
  /** Nothing queued is delivered while pings and requests are answered: a deaf session, as the client sees it. */
  holdInbound(hold: boolean): void {
    for (const companion of this.#companions()) companion.hold(hold);
  }
  expireMedia(messageId: string): void {
    this.#media.expire(messageId);
  }
  corruptMedia(messageId: string, how: 'mac' | 'hash'): void {
    this.#media.corrupt(messageId, how);
  }
  stallUploads(stall = true): void {
    this.#media.stallUploads(stall);
  }
  failUploads(count: number): void {
    this.#media.failUploads(count);
  }

  /** The server's own questions to this object. */
  takeDroppedAck(): boolean {
    return this.#droppedAcks > 0 && this.#droppedAcks-- > 0;
  }
  takeLostMessage(): boolean {
    return this.#lostMessages > 0 && this.#lostMessages-- > 0;
  }
  takeAckError(): number | undefined {
    return this.#ackErrors.shift();
  }
  takeIqError(xmlns: string): number | undefined {
    const at = this.#iqErrors.findIndex((error) => error.xmlns === xmlns);
    return at < 0 ? undefined : this.#iqErrors.splice(at, 1)[0]?.code;
  }
  get loginRefusal(): number | null {
    return this.#loginRefusal;
  }
  sendReceipt(companion: Companion, attrs: Record<string, string | number | undefined>, content?: Stanza[]): void {
    const receipt = el('receipt', attrs, content);
    if (this.#heldReceipts) this.#heldReceipts.push([companion, receipt]);
    else companion.deliver(receipt);
  }
}
