import { EventEmitter } from 'node:events';
import type { Companion, Pending } from './companion.ts';
import type { Connection } from './connection.ts';
import { type Contact, newContact } from './contact.ts';
import { Faults } from './faults.ts';
import { Group } from './group.ts';
import { Ledger } from './ledger.ts';
import { MediaServer } from './media.ts';
import { noiseServerIdentity } from './noise.ts';
import { advRotation, OwnPhone } from './phone.ts';
import { ChatServer } from './server.ts';
import { el, type Stanza } from './stanza.ts';
import { linked, type World } from './world.ts';

/**
 * A local WhatsApp: one account with its phone, other people, and the server between them and the client under test.
 */

export interface FixtureOptions {
  port?: number;
  /** digits of the account's phone number */
  accountPn?: string;
  accountLid?: string;
  accountName?: string;
}

export type Disconnect = 'tcp' | 'xmlstreamend' | 'replaced' | 'device_removed' | 'silent' | { streamError: number };

export interface WhatsAppFixture {
  /** ws://127.0.0.1:PORT/ws/chat */
  url: string;
  /** 64 hex digits: the public key that vouches for the server */
  noiseRootKey: string;
  media: MediaServer;
  /** what a client process needs to talk to this fixture instead of WhatsApp */
  env: Record<string, string>;
  account: { pn: string; lid: string; name: string };
  phone: OwnPhone;
  contacts: Contact[];
  contact(name: string, options?: { pn?: string; lid?: string }): Contact;
  group(subject: string, members: Contact[], options?: { jid?: string; addressing?: 'lid' | 'pn' }): Group;
  ledger: Ledger;
  faults: Faults;
  /**
   * `stanza` (stanza, companion | null): read from a client, not yet handled. `delivered` (stanza, companion): written
   * to one. `settled` (stanza, companion): taken by one. `linked`, `login`, `active`, `closed` (companion). `shown`
   * (message, handset): on a phone's screen for the first time.
   */
  hooks: EventEmitter;
  /** live sockets, logged in or pairing */
  connections: Connection[];
  /** linked devices that were not removed */
  devices: Companion[];
  /** what was sent to linked devices and not taken by them yet */
  queue: Pending[];
  /** ends (or silences) the sockets of logged-in devices, or of pairing clients when there are none */
  disconnect(how: Disconnect): void;
  refuseLogins(reason: number | null): void;
  /** tells pairing clients that the secret of their QR is retired */
  rotateAdvSecret(kind?: 'companion_reg_refresh' | 'pair-device-rotate-qr'): void;
  /** any stanza to every linked device, queued until it is taken (or, with `now`, only written to live sockets) */
  inject(stanza: Stanza, now?: boolean): void;
  close(): Promise<void>;
}

export async function startWhatsAppFixture(options: FixtureOptions = {}): Promise<WhatsAppFixture> {
  const identity = noiseServerIdentity();
  const media = await MediaServer.start();
  const companions = new Map<number, Companion>();
  const account = {
    pn: `${options.accountPn ?? '15550001111'}@s.whatsapp.net`,
    lid: `${options.accountLid ?? '100000000000001'}@lid`,
    name: options.accountName ?? 'Owner',
  };
  const world = {
    account,
    contacts: [] as Contact[],
    groups: new Map<string, Group>(),
    companions,
    connections: new Set<Connection>(),
    ledger: new Ledger(),
    faults: new Faults(media, () => companions.values()),
    media,
    hooks: new EventEmitter().setMaxListeners(0),
  } as unknown as World;
  world.phone = new OwnPhone(world, account.name, account.pn, account.lid);
  const server = await ChatServer.start(world, identity, options.port ?? 0);
  const noiseRootKey = identity.rootPublicKey.toString('hex');
  const env = {
    WA_WEB_SOCKET_URL: server.url,
    WA_NOISE_ROOT_KEY: noiseRootKey,
    WA_MEDIA_HOST: media.host,
    WA_ALLOW_INSECURE: '1',
    NODE_EXTRA_CA_CERTS: media.caFile,
  };
  const { phone, contacts, ledger, faults, hooks } = world;
  return {
    url: server.url,
    noiseRootKey,
    media,
    env,
    account,
    phone,
    contacts,
    ledger,
    faults,
    hooks,
    contact: (name, contactOptions) => newContact(world, name, contactOptions),
    group: (subject, members, groupOptions) => new Group(world, subject, members, groupOptions),
    get connections() {
      return [...world.connections];
    },
    get devices() {
      return linked(world);
    },
    get queue() {
      return linked(world).flatMap(({ queue }) => queue);
    },
    disconnect: (how) => disconnect(world, how),
    refuseLogins: (reason) => faults.refuseLogins(reason),
    rotateAdvSecret: (kind = 'companion_reg_refresh') => {
      for (const connection of world.connections) if (connection.pairing) connection.send(advRotation(kind));
    },
    inject: (stanza, now = false) => {
      for (const companion of linked(world)) {
        if (now) companion.connection?.send(stanza);
        else companion.deliver(stanza);
      }
    },
    close: async () => {
      await server.close();
      await media.close();
    },
  };
}

function disconnect(world: World, how: Disconnect): void {
  if (how === 'device_removed') {
    world.phone.unlink();
    return;
  }
  const loggedIn = [...world.connections].filter(({ companion }) => companion);
  for (const connection of loggedIn.length ? loggedIn : world.connections) {
    if (how === 'tcp') connection.terminate();
    else if (how === 'silent') connection.silent = true;
    else {
      if (how === 'xmlstreamend') connection.send(el('xmlstreamend'));
      else if (how === 'replaced') connection.send(el('stream:error', {}, [el('conflict', { type: 'replaced' })]));
      else connection.send(el('stream:error', { code: how.streamError }));
      connection.close();
    }
  }
}
