import type { EventEmitter } from 'node:events';
import type { Companion } from './companion.ts';
import type { Connection } from './connection.ts';
import type { Contact } from './contact.ts';
import type { Faults } from './faults.ts';
import type { Group } from './group.ts';
import type { Handset } from './handset.ts';
import type { Ledger } from './ledger.ts';
import type { MediaServer } from './media.ts';
import type { OwnPhone } from './phone.ts';
import { user } from './stanza.ts';

/** Everything that lives on the server's side and outlives a client process. */
export interface World {
  account: { pn: string; lid: string; name: string };
  phone: OwnPhone;
  contacts: Contact[];
  groups: Map<string, Group>;
  companions: Map<number, Companion>;
  connections: Set<Connection>;
  ledger: Ledger;
  faults: Faults;
  media: MediaServer;
  hooks: EventEmitter;
}

/** The phone behind an address, in either form; undefined when nobody has it. */
export function handsetOf(world: World, jid: string | undefined): Handset | undefined {
  const who = user(jid);
  return [world.phone, ...world.contacts].find(({ pn, lid }) => who !== '' && (user(pn) === who || user(lid) === who));
}

export const isOwn = (world: World, jid: string | undefined): boolean => handsetOf(world, jid) === world.phone;

export const linked = (world: World): Companion[] => [...world.companions.values()].filter(({ removed }) => !removed);
