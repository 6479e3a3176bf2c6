import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store } from '../../src/store/postgres/database.ts';
import { until, within } from '../support/until.ts';
import type { Companion } from '../support/whatsapp/companion.ts';
import type { WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import type { Stanza } from '../support/whatsapp/stanza.ts';
import type { Random } from './random.ts';

/** Where a client dies. */
export const POINTS = {
  arrival: 'up to 30 ms after a message was written to its socket',
  commit: 'inside the transaction: ratchet written, inbox row not',
  stored: 'inbox row committed, receipt never read by the server',
  receipt: 'the moment the server reads the receipt',
  send: 'the moment the server reads a reply, before its ack',
  ack: 'while it waits for an ack that was dropped',
  login: 'up to 60 ms after its login was accepted',
  reconnect: 'up to 1.5 s after its connection was cut',
  anytime: 'at a random moment',
} as const;
export type Point = keyof typeof POINTS;

/** A client that can be killed. */
export interface Prey {
  fixture: WhatsAppFixture;
  /** SIGKILLs it now; false when it is not running */
  kill(): boolean;
  /** of the instance; null for a client that has none */
  store: Store | null;
}

/** So long is waited for the moment; then it is killed as it is. */
const PATIENCE_MS = 20_000;
/** A lock that is held longer would run into the client's own time limits. */
const LOCK_MS = 2_500;

const isMessage = ({ tag, attrs }: Stanza): boolean => tag === 'message' && attrs.category !== 'peer';
const isReceipt = ({ tag, attrs }: Stanza): boolean =>
  tag === 'receipt' && !['read', 'hist_sync', 'peer_msg', 'retry'].includes(attrs.type ?? '');

/**
 * Kills at the point; resolves with where it really was, because a moment may not come. Null when nothing ran that
 * could be killed.
 */
export async function killAt(point: Point, prey: Prey, random: Random): Promise<Point | null> {
  const delay = random.between(0, point === 'arrival' ? 30 : point === 'login' ? 60 : 1500);
  const met = await meet(point, prey, delay);
  if (met) return point;
  return prey.kill() ? 'anytime' : null;
}

async function meet(point: Point, prey: Prey, delay: number): Promise<boolean> {
  const { fixture, store } = prey;
  const killLater = async (): Promise<boolean> => {
    await pause(delay);
    return prey.kill();
  };
  switch (point) {
    case 'arrival':
      return (await next(fixture, 'delivered', isMessage)) !== null && killLater();
    case 'commit':
      return store
        ? await inTransaction(prey, store)
        : (await next(fixture, 'delivered', isMessage)) !== null && prey.kill();
    case 'stored': {
      const stanza = await next(fixture, 'delivered', isMessage, (_, companion) => {
        if (companion.connection) companion.connection.silent = true;
      });
      if (!stanza) return false;
      if (store) await within('the row is there', () => hasRow(store, stanza.attrs.id ?? ''), 3_000).catch(() => {});
      else await pause(20);
      return prey.kill();
    }
    case 'receipt':
      return await next(fixture, 'stanza', isReceipt, prey.kill).then((stanza) => stanza !== null);
    case 'send':
      return await next(fixture, 'stanza', isMessage, prey.kill).then((stanza) => stanza !== null);
    case 'ack':
      fixture.faults.dropAcks(1);
      return (await next(fixture, 'stanza', isMessage)) !== null && killLater();
    case 'login':
      fixture.disconnect('tcp');
      return (await next(fixture, 'login', () => true)) !== null && killLater();
    case 'reconnect':
      fixture.disconnect('tcp');
      return killLater();
    case 'anytime':
      return killLater();
  }
}

type Event = 'delivered' | 'stanza' | 'login';

/**
 * The next stanza of a kind, or null when none comes; `act` is called in the moment itself. A login is told as an empty
 * stanza.
 */
function next(
  fixture: WhatsAppFixture,
  event: Event,
  wanted: (stanza: Stanza) => boolean,
  act?: (stanza: Stanza, companion: Companion) => unknown,
) {
  return new Promise<Stanza | null>((resolve) => {
    const settle = (stanza: Stanza | null) => {
      clearTimeout(timer);
      fixture.hooks.off(event, heard);
      resolve(stanza);
    };
    const heard = (...args: unknown[]) => {
      const [stanza, companion] = (event === 'login' ? [{ tag: 'login', attrs: {} }, args[0]] : args) as [
        Stanza,
        Companion | null,
      ];
      if (!companion || !wanted(stanza)) return;
      act?.(stanza, companion);
      settle(stanza);
    };
    const timer = setTimeout(() => settle(null), PATIENCE_MS);
    fixture.hooks.on(event, heard);
  });
}

const hasRow = async ({ db }: Store, id: string): Promise<boolean> =>
  (await db.selectFrom('wa_inbox').select('seq').where('message_id', '=', id).executeTakeFirst()) !== undefined;

/**
 * Blocks the insert into the inbox: a process that waits for it has written the ratchet state in the same transaction.
 */
async function inTransaction(prey: Prey, { db }: Store): Promise<boolean> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const met = await db
      .transaction()
      .execute(async (tx) => {
        await sql`lock table wa_inbox in share row exclusive mode`.execute(tx);
        // asked outside of the transaction, in which the view would not change
        const blocked = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ilike 'insert into "wa_inbox"%'`;
        await until('an insert is blocked', async () => (await blocked.execute(db)).rows.length > 0, LOCK_MS);
        return prey.kill();
      })
      .catch(() => false);
    if (met) return true;
    await pause(200);
  }
  return false;
}
