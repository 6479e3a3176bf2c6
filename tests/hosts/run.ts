import { setTimeout as pause } from 'node:timers/promises';
import { readAccount } from '../../src/store/whatsapp/account.ts';
import { audit, type Findings, settled } from '../chaos/audit.ts';
import { Chat, type Expected } from '../chaos/chats.ts';
import { createClient } from '../chaos/client.ts';
import { seeded } from '../chaos/random.ts';
import { talk } from '../chaos/whatsapp-people.ts';
import { auditBursts, auditLeftovers, type Seen, tally } from '../chaos/whatsapp-tally.ts';
import { until } from '../support/until.ts';
import type { Cluster } from './cluster.ts';
import { type Fault, whatsappHost } from './faults.ts';
import { follow, type Reader } from './reader.ts';

export interface HostsOptions {
  seed: number;
  faults: readonly Fault[];
  chats: number;
  /** messages of people on WhatsApp */
  messages: number;
  /** how long each fault lasts, ms; longer than the lease of WhatsApp and its takeover, when unset */
  heldMs?: number;
  onFault?: (met: Met) => void;
}

/** One fault, as it went. */
export interface Met {
  fault: string;
  host: string;
  /** the host had WhatsApp */
  whatsapp: boolean;
  /** ms from the fault to the end of a message that was sent right after it, and from its end to that of another one */
  answeredMs: number;
  healedMs: number;
  /** ms until the other host had WhatsApp; null where it stayed */
  tookOverMs: number | null;
}

export interface HostsResult extends Findings {
  met: Met[];
  whatsapp: Pick<Seen, 'inbound' | 'outbound' | 'resent' | 'disordered' | 'unreadable' | 'problems'> & {
    pairedAgain: number;
  };
  readers: { events: number; breaks: number };
  /** connections that each API got */
  passed: readonly number[];
  retries: number;
  seconds: number;
}

const HELD_MS = 20_000;
const PATIENCE_MS = 180_000;

/**
 * People talk over HTTP and WhatsApp and follow their threads, while one host after the other meets a fault; then
 * everything is held against the ledgers.
 */
export async function runHosts(cluster: Cluster, options: HostsOptions): Promise<HostsResult> {
  const begun = Date.now();
  const { db } = cluster.database.store;
  const random = seeded(options.seed);
  const client = createClient(cluster);
  const expected: Expected[] = [];
  const problems: string[] = [];
  const met: Met[] = [];
  let over = false;
  const threads = await Promise.all(Array.from({ length: options.chats }, () => cluster.thread()));
  const readers = threads.map((thread) => follow(cluster.front.url, thread));
  const chats = threads.map(async (thread) => {
    const chat = new Chat(thread, client, seeded(random.between(0, 2 ** 31)), (message) => void expected.push(message));
    let well = true;
    while (!over && well)
      await chat.message().catch((error: Error) => {
        well = false;
        problems.push(error.message);
      });
  });
  const talked = talk(cluster.people, {
    messages: options.messages,
    burstEvery: 10,
    random: seeded(options.seed + 1),
    patienceMs: PATIENCE_MS,
    // the talk lasts as long as the faults
    allowed: (sent) => over || sent < ((met.length + 1) * options.messages) / options.faults.length,
  });
  try {
    for (const [number, fault] of options.faults.entries()) {
      // every other one hits the host that has WhatsApp
      const holder = await whatsappHost(cluster);
      const one = await meet(cluster, fault, {
        at: number % 2 === 0 ? holder : 1 - holder,
        holder,
        heldMs: options.heldMs ?? HELD_MS,
      });
      met.push(one);
      options.onFault?.(one);
    }
  } finally {
    over = true;
  }
  await Promise.all([...chats, talked.over]);
  await settled(db);
  const findings = await audit(db, expected, cluster.model.requests());
  findings.lost.push(...problems);
  const events = await auditReaders(cluster, threads, readers, findings);
  const seen = tally(cluster.fixture, talked.spoken);
  await auditBursts(db, talked.hurried, seen);
  await auditLeftovers(db, seen);
  findings.lost.push(...seen.lost);
  findings.doubled.push(...seen.doubled);
  const { outbound, resent, disordered, unreadable } = seen;
  return {
    ...findings,
    met,
    whatsapp: {
      ...{ outbound, resent, disordered, unreadable, problems: seen.problems },
      inbound: seen.inbound + talked.hurried.length,
      pairedAgain: cluster.fixture.devices.length - 1,
    },
    readers: { events, breaks: readers.reduce((sum, reader) => sum + reader.breaks(), 0) },
    passed: cluster.front.passed,
    retries: client.retries(),
    seconds: Math.round((Date.now() - begun) / 1000),
  };
}

async function meet(
  cluster: Cluster,
  fault: Fault,
  { at, holder, heldMs }: { at: number; holder: number; heldMs: number },
): Promise<Met> {
  const begun = Date.now();
  await fault.strike(cluster, at);
  const tookOver = holder === at ? watchTakeover(cluster, at, begun) : null;
  try {
    const answered = cluster.probe();
    // a fault lasts its time, whether the message is answered meanwhile or not
    const healed = pause(heldMs)
      .then(() => fault.heal(cluster, at))
      .then(() => cluster.probe());
    const [answeredMs, healedMs] = await Promise.all([answered, healed]);
    await cluster.hosts[at]!.ready();
    return {
      fault: fault.name,
      host: cluster.hosts[at]!.name,
      whatsapp: holder === at,
      answeredMs,
      healedMs,
      tookOverMs: tookOver?.ms() ?? null,
    };
  } finally {
    tookOver?.stop();
  }
}

/** Looks when the other host has WhatsApp. Not every fault takes it from its host. */
function watchTakeover({ hosts, database }: Cluster, at: number, begun: number): { ms(): number | null; stop(): void } {
  let ms: number | null = null;
  const timer = setInterval(() => {
    void readAccount(database.store.db, 'default').then((account) => {
      if (
        ms === null &&
        account?.state === 'authenticated' &&
        account.lease_holder?.startsWith(`${hosts[1 - at]!.name}:`)
      )
        ms = Date.now() - begun;
    });
  }, 100);
  return { ms: () => ms, stop: () => clearInterval(timer) };
}

/** Each screen saw each event of its thread once, in order, whichever API it was connected to. */
async function auditReaders(
  cluster: Cluster,
  threads: readonly string[],
  readers: readonly Reader[],
  findings: Findings,
): Promise<number> {
  let count = 0;
  for (const [at, thread] of threads.entries()) {
    const { seen, close } = readers[at]!;
    const rows = await cluster.database.store.db
      .selectFrom('events')
      .select('seq')
      .where('thread_id', '=', thread)
      .orderBy('seq')
      .execute();
    const stored = rows.map(({ seq }) => Number(seq));
    await until(`the screen of ${thread} has seen the last event`, () => seen.at(-1) === stored.at(-1), 30_000).catch(
      () => {},
    );
    close();
    count += seen.length;
    const times = new Map<number, number>();
    for (const seq of seen) times.set(seq, (times.get(seq) ?? 0) + 1);
    for (const seq of stored)
      if (!times.has(seq)) findings.lost.push(`event ${seq} was not on the screen of ${thread}`);
    for (const [seq, shown] of times)
      if (shown > 1) findings.doubled.push(`event ${seq} came ${shown} times to the screen of ${thread}`);
    if (seen.some((seq, index) => index > 0 && seq < seen[index - 1]!))
      findings.doubled.push(`events came in another order to the screen of ${thread}`);
  }
  return count;
}

export function hostsReport(result: HostsResult): string {
  const { whatsapp, readers } = result;
  return [
    '| fault | at the host with WhatsApp | a message sent then is answered, ms | one sent at its end, ms | WhatsApp at the other host, ms |',
    '|---|---|---:|---:|---:|',
    ...result.met.map(
      (one) =>
        `| ${one.fault} | ${one.whatsapp ? 'yes' : 'no'} | ${one.answeredMs} | ${one.healedMs} | ${one.tookOverMs ?? ''} |`,
    ),
    '',
    `seconds ${result.seconds}; messages over HTTP ${result.messages}, requests repeated by clients ${result.retries}, model steps asked again ${result.askedAgain}`,
    `connections to the two APIs ${result.passed.join(' and ')}; events on screens ${readers.events}, after ${readers.breaks} breaks`,
    `WhatsApp: in ${whatsapp.inbound}, out ${whatsapp.outbound}, same id on the wire again ${whatsapp.resent}, linked again ${whatsapp.pairedAgain}`,
    `lost ${result.lost.length}, doubled ${result.doubled.length}, stuck ${result.stuck.length}`,
    ...[
      ...result.lost,
      ...result.doubled,
      ...result.stuck,
      ...whatsapp.disordered,
      ...whatsapp.unreadable,
      ...whatsapp.problems,
    ].map((each) => `- ${each}`),
  ].join('\n');
}
