import { decodeBinaryNode, encodeBinaryNode, type proto } from '@whiskeysockets/baileys';
import type { WebSocket } from 'ws';
import type { Companion } from './companion.ts';
import { FrameReader, frame } from './frames.ts';
import { NoiseResponder, type NoiseServerIdentity, type NoiseTransport } from './noise.ts';
import type { Pairing } from './pairing.ts';
import { SERVER, type Stanza } from './stanza.ts';

const ANSWER_DEADLINE_MS = 10_000;

interface Handlers {
  /** the handshake is done: a login or a registration */
  payload(connection: Connection, payload: proto.ClientPayload): void;
  stanza(connection: Connection, stanza: Stanza): Promise<void>;
  closed(connection: Connection): void;
  failed(connection: Connection, error: unknown): void;
}

/** One client socket: handshake, then stanzas, handled one after the other in the order of their arrival. */
export class Connection {
  readonly openedAt = Date.now();
  clientStatic: Buffer = Buffer.alloc(0);
  companion: Companion | null = null;
  pairing: Pairing | null = null;
  /** reads and writes nothing more, and stays connected */
  silent = false;
  readonly #socket: WebSocket;
  readonly #handlers: Handlers;
  readonly #reader = new FrameReader();
  readonly #noise: NoiseResponder;
  readonly #answers = new Map<string, { resolve(answer: Stanza): void; reject(error: Error): void }>();
  #transport: NoiseTransport | null = null;
  #greeted = false;
  #queue: Promise<void> = Promise.resolve();
  #nextId = 1;

  constructor(socket: WebSocket, identity: NoiseServerIdentity, handlers: Handlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    this.#noise = new NoiseResponder(identity);
    socket.on('message', (data: Buffer) => {
      if (this.silent) return;
      this.#queue = this.#queue.then(() => this.#read(data)).catch((error) => this.#fail(error));
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const { reject } of this.#answers.values())
        reject(new Error('the client closed the connection instead of answering'));
      handlers.closed(this);
    });
  }

  get open(): boolean {
    return this.#transport !== null && this.#socket.readyState === this.#socket.OPEN && !this.silent;
  }
  get routingInfo(): Buffer | null {
    return this.#reader.routingInfo;
  }

  send(stanza: Stanza): void {
    if (!this.open) return;
    this.#socket.send(frame(this.#transport!.encrypt(encodeBinaryNode(stanza))));
  }

  /** Sends an iq and resolves with its answer. Rejects when the client closes or says nothing for ten seconds. */
  query(iq: Stanza): Promise<Stanza> {
    const id = `srv-${this.#nextId++}`;
    return new Promise<Stanza>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${JSON.stringify(iq.attrs)}`)), ANSWER_DEADLINE_MS);
      const settle = () => {
        clearTimeout(timer);
        this.#answers.delete(id);
      };
      this.#answers.set(id, {
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.send({ ...iq, attrs: { ...iq.attrs, id, from: SERVER } });
    });
  }

  close(): void {
    this.#socket.close();
  }
  /** drops TCP without a word */
  terminate(): void {
    this.#socket.terminate();
  }

  async #read(data: Buffer): Promise<void> {
    for (const body of this.#reader.push(data)) {
      if (!this.#greeted) {
        this.#greeted = true;
        this.#socket.send(frame(this.#noise.answer(body)));
      } else if (!this.#transport) {
        const { clientStatic, payload, transport } = this.#noise.finish(body);
        this.clientStatic = clientStatic;
        this.#transport = transport;
        this.#handlers.payload(this, payload);
      } else {
        await this.#dispatch(await decodeBinaryNode(this.#transport.decrypt(body)));
      }
    }
  }

  async #dispatch(stanza: Stanza): Promise<void> {
    const waiting =
      stanza.tag === 'iq' && stanza.attrs.type !== 'get' && stanza.attrs.type !== 'set'
        ? this.#answers.get(stanza.attrs.id ?? '')
        : undefined;
    if (waiting) waiting.resolve(stanza);
    await this.#handlers.stanza(this, stanza);
  }

  #fail(error: unknown): void {
    this.#handlers.failed(this, error);
    this.#socket.terminate();
  }
}
