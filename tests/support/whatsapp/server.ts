import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { Connection } from './connection.ts';
import { handleIq } from './iq.ts';
import type { SeenStanza } from './ledger.ts';
import { handlePayload } from './login.ts';
import { handleMessage } from './messages.ts';
import type { NoiseServerIdentity } from './noise.ts';
import { handleAck, handleReceipt } from './receipts.ts';
import { el, type Stanza, user } from './stanza.ts';
import type { World } from './world.ts';

/** The socket that clients connect to, and where their stanzas go. */
export class ChatServer {
  readonly url: string;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;

  private constructor(http: Server, sockets: WebSocketServer) {
    this.#http = http;
    this.#sockets = sockets;
    this.url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}/ws/chat`;
  }

  static async start(world: World, identity: NoiseServerIdentity, port: number): Promise<ChatServer> {
    const http = createServer((_request, response) => response.writeHead(426).end());
    const sockets = new WebSocketServer({ server: http, path: '/ws/chat' });
    sockets.on('connection', (socket: WebSocket) => {
      const connection = new Connection(socket, identity, {
        payload: (from, payload) => handlePayload(world, from, payload),
        stanza: (from, stanza) => handleStanza(world, from, stanza),
        failed: (_from, error) => world.ledger.problem(`a connection broke: ${(error as Error).stack}`),
        closed: (from) => {
          world.connections.delete(from);
          const { companion } = from;
          if (companion?.connection !== from) return;
          companion.connection = null;
          companion.active = false;
          world.hooks.emit('closed', companion);
        },
      });
      world.connections.add(connection);
    });
    await new Promise<void>((ready, failed) => http.once('error', failed).listen(port, '127.0.0.1', ready));
    return new ChatServer(http, sockets);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise((closed) => this.#http.close(closed));
  }
}

const LEDGER_KINDS = new Set<string>(['receipt', 'iq', 'presence', 'chatstate', 'ack', 'call', 'ib']);

async function handleStanza(world: World, connection: Connection, stanza: Stanza): Promise<void> {
  const { companion } = connection;
  if (stanza.tag !== 'message') {
    const kind = (LEDGER_KINDS.has(stanza.tag) ? stanza.tag : 'other') as SeenStanza['kind'];
    world.ledger.record({ kind, at: Date.now(), device: companion?.device ?? null, stanza });
  }
  world.hooks.emit('stanza', stanza, companion);
  if (stanza.tag === 'iq') return handleIq(world, connection, stanza);
  if (!companion) return;
  if (stanza.tag === 'message' && world.faults.takeLostMessage()) return connection.terminate();
  if (stanza.tag === 'message') return handleMessage(world, connection, stanza);
  if (stanza.tag === 'receipt' && world.faults.losesReceipt(stanza.attrs.id)) return connection.terminate();
  if (stanza.tag === 'receipt') return handleReceipt(world, connection, stanza);
  if (stanza.tag === 'ack') return handleAck(connection, stanza);
  if (stanza.tag === 'call')
    return connection.send(el('ack', { class: 'call', id: stanza.attrs.id, from: stanza.attrs.to }));
  if (stanza.tag !== 'chatstate' || !Array.isArray(stanza.content)) return;
  const [state] = stanza.content;
  const seer = world.contacts.find(({ lid, pn }) => [user(lid), user(pn)].includes(user(stanza.attrs.to)));
  if (seer) seer.sees = state?.attrs.media === 'audio' ? 'recording' : (state?.tag ?? null);
}
