import type { Db } from '../../src/store/postgres/database.ts';
import type { WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import { type Chatter, type Spoken, timesShown } from './whatsapp-people.ts';
import { POINTS, type Point } from './whatsapp-points.ts';

export interface WhatsAppKill {
  victim: 'gateway' | 'worker' | 'postgres';
  point: Point;
  /** epoch milliseconds */
  at: number;
}

/** What the phones and the server have seen of a run. */
export interface Tally {
  inbound: number;
  /** messages of ours (distinct ids) that the phones show */
  outbound: number;
  lost: string[];
  doubled: string[];
  disordered: string[];
  /** copies of our messages that a phone could not read, resends of the same id included */
  unreadable: string[];
  /** messages to us that had to be asked for again, because they could not be read at a delivery */
  askedAgain: string[];
  /**
   * messages that were stored, delivered once more because their receipt was lost, and then needlessly asked for again
   */
  askedThoughStored: number;
  /** the same id on the wire more than once; shown once all the same */
  resent: number;
  /** how often a phone had to link the client again, without the first time */
  pairedAgain: number;
  problems: string[];
  kills: WhatsAppKill[];
  seconds: number;
  /** milliseconds from a message to its answer: median and longest */
  answered: { median: number; longest: number };
}

export type Seen = Omit<Tally, 'kills' | 'seconds' | 'pairedAgain'>;

/** Holds what was said against what the phones show. */
export function tally(fixture: WhatsAppFixture, spoken: readonly Spoken[]): Seen {
  const lost: string[] = [];
  const doubled: string[] = [];
  const audiences = new Map<Chatter, Spoken[]>();
  for (const entry of spoken) {
    const { chatter, token } = entry;
    audiences.set(chatter, [...(audiences.get(chatter) ?? []), entry]);
    const times = chatter.audience.map((handset) => timesShown(handset, token));
    if (times.some((count) => count === 0)) lost.push(`${token}: no answer`);
    if (times.some((count) => count > 1)) doubled.push(`${token}: answered ${Math.max(...times)} times`);
  }
  const disordered = [...audiences].flatMap(([chatter, entries]) =>
    chatter.audience.flatMap((handset) => {
      const order = entries
        .map(({ token }) =>
          handset.received.findIndex(({ by, shown }) => by === 'client' && shown.text.includes(token)),
        )
        .filter((at) => at >= 0);
      return order.some((at, index) => index > 0 && at < order[index - 1]!)
        ? [`answers to ${chatter.name} came in another order`]
        : [];
    }),
  );
  const { ledger } = fixture;
  const asked = ledger.receipts
    .filter(({ stanza }) => stanza.attrs.type === 'retry')
    .map(({ stanza }) => stanza.attrs.id ?? '');
  const times = spoken.flatMap(({ answeredMs }) => (answeredMs === null ? [] : [answeredMs])).sort((a, b) => a - b);
  const ids = ledger.messages.filter(({ stanza }) => stanza.attrs.category !== 'peer').map(({ id }) => id);
  const shown = new Set(
    [...fixture.contacts, fixture.phone].flatMap(({ received }) =>
      received.filter(({ by, kind }) => by === 'client' && kind === 'text').map(({ id }) => id),
    ),
  );
  return {
    inbound: spoken.length,
    outbound: shown.size,
    lost,
    doubled,
    disordered,
    unreadable: ledger.undecryptable.map(({ id, to, error }) => `${id} to ${to}: ${error}`),
    askedAgain: [...new Set(asked)],
    askedThoughStored: 0,
    resent: ids.length - new Set(ids).size,
    problems: ledger.problems.map(({ what }) => what),
    answered: { median: times[Math.floor(times.length / 2)] ?? 0, longest: times.at(-1) ?? 0 },
  };
}

/**
 * What the hasty one wrote: each message is in exactly one input of the conversation, in the order of writing, and
 * every such turn has its answer on the phone.
 */
export async function auditBursts(db: Db, hurried: readonly Spoken[], seen: Seen): Promise<void> {
  const rows = await db
    .selectFrom('wa_inbox')
    .innerJoin('inbox', 'inbox.id', 'wa_inbox.inbox_id')
    .select(['wa_inbox.message_id', 'wa_inbox.seq', 'inbox.body', 'inbox.turn_id'])
    .where('wa_inbox.message_id', 'in', ['', ...hurried.map(({ id }) => id)])
    .orderBy('wa_inbox.seq')
    .execute();
  for (const { id, token, chatter } of hurried) {
    const own = rows.filter((row) => row.message_id === id && row.body.includes(token));
    if (own.length !== 1) (own.length ? seen.doubled : seen.lost).push(`${token}: in ${own.length} inputs`);
    const inputs = await db.selectFrom('inbox').select('id').where('body', 'like', `%${token}%`).execute();
    if (inputs.length > 1) seen.doubled.push(`${token}: in ${inputs.length} inputs`);
    const ends = await db
      .selectFrom('outbox')
      .innerJoin('wa_sends', 'wa_sends.outbox_id', 'outbox.id')
      .select('wa_sends.message_id')
      .where('outbox.turn_id', 'in', ['', ...own.flatMap(({ turn_id }) => (turn_id ? [turn_id] : []))])
      .execute();
    const onScreen = ends.filter(({ message_id }) => chatter.audience.every((handset) => handset.message(message_id)));
    if (own.length === 1 && onScreen.length === 0) seen.lost.push(`${token}: its turn has no answer on the phone`);
  }
  const order = rows.map(({ message_id }) => hurried.findIndex(({ id }) => id === message_id));
  const early = order.findIndex((at, index) => index > 0 && at < order[index - 1]!);
  if (early > 0)
    seen.disordered.push(`${hurried[order[early - 1]!]?.token} was taken before ${hurried[order[early]!]?.token}`);
}

/**
 * Takes out of the messages that were asked for again those that had been stored before the delivery that could not be
 * read.
 */
export async function auditRetries(db: Db, fixture: WhatsAppFixture, seen: Seen): Promise<void> {
  const { ledger } = fixture;
  const unread: string[] = [];
  for (const id of seen.askedAgain) {
    const asked = ledger.receipts.find(({ stanza }) => stanza.attrs.id === id && stanza.attrs.type === 'retry')!.at;
    const delivery = ledger.delivered.findLast(
      ({ at, stanza }) => stanza.attrs.id === id && stanza.tag === 'message' && at <= asked,
    );
    const row = await db.selectFrom('wa_inbox').select('received_at').where('message_id', '=', id).executeTakeFirst();
    if (row && delivery && row.received_at.getTime() < delivery.at) seen.askedThoughStored += 1;
    else unread.push(id);
  }
  seen.askedAgain = unread;
}

/** Beside each other, as a table. */
export function compare(columns: ReadonlyArray<readonly [title: string, result: Tally]>): string {
  const row = (name: string, value: (result: Tally) => string | number): string =>
    `| ${name} | ${columns.map(([, result]) => value(result)).join(' | ')} |`;
  const of = (victim: WhatsAppKill['victim']) => (result: Tally) =>
    result.kills.filter((kill) => kill.victim === victim).length;
  const points = Object.keys(POINTS) as Point[];
  return [
    `| | ${columns.map(([title]) => title).join(' | ')} |`,
    `|---|${columns.map(() => '---:').join('|')}|`,
    row(
      'SIGKILLs of gateway / worker / PostgreSQL',
      (result) => `${of('gateway')(result)} / ${of('worker')(result)} / ${of('postgres')(result)}`,
    ),
    row('messages in', ({ inbound }) => inbound),
    row('messages out', ({ outbound }) => outbound),
    row('in: not answered', ({ lost }) => lost.length),
    row('in: answered twice', ({ doubled }) => doubled.length),
    row('chats whose answers came in another order', ({ disordered }) => disordered.length),
    row('out: copies that a phone could not read', ({ unreadable }) => unreadable.length),
    row('in: could not be read at a delivery, asked for again', ({ askedAgain }) => askedAgain.length),
    row('in: stored, delivered again, needlessly asked for again', ({ askedThoughStored }) => askedThoughStored),
    row('out: same id on the wire again, shown once', ({ resent }) => resent),
    row('linked again by the phone', ({ pairedAgain }) => pairedAgain),
    row('message to answer, ms: median / longest', ({ answered }) => `${answered.median} / ${answered.longest}`),
    row('seconds', ({ seconds }) => seconds),
    '',
    '| where the gateway died | times |',
    '|---|---:|',
    ...points.map(
      (point) =>
        `| ${POINTS[point]} | ${columns[0]![1].kills.filter((kill) => kill.victim === 'gateway' && kill.point === point).length} |`,
    ),
  ].join('\n');
}

/** What is still under way although everything has had its time. */
export async function auditLeftovers(db: Db, seen: Seen): Promise<void> {
  for (const row of await db
    .selectFrom('wa_inbox')
    .select(['message_id', 'content'])
    .where('handled_at', 'is', null)
    .execute())
    seen.lost.push(`WhatsApp message ${row.message_id} was never handled${row.content ? '' : ' (no content)'}`);
  for (const row of await db
    .selectFrom('outbox')
    .select(['id', 'state', 'error'])
    .where('state', 'in', ['queued', 'failed'])
    .execute())
    seen.lost.push(`outbox row ${row.id} is ${row.state} (${row.error})`);
  const turns = db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id');
  const open = turns
    .select(['turns.id', 'turns.status', 'turns.error'])
    .where('chats.channel', '=', 'whatsapp')
    .where('turns.status', '!=', 'completed');
  for (const row of await open.execute()) seen.lost.push(`turn ${row.id} is ${row.status} (${row.error})`);
}
