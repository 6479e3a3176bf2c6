import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAccount, wish } from '../../src/store/whatsapp/account.ts';
import { requireDocker } from '../support/docker.ts';
import { workspace } from '../support/kennel-app.ts';
import { allReady, PAIRED, type Pairs, startPairs } from '../support/pairs.ts';
import { until } from '../support/until.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import { audit, auditSchedule, type Findings, settled } from './audit.ts';
import { Chat, type Expected } from './chats.ts';
import { createClient } from './client.ts';
import { createPairKiller, type PairKill } from './pairs-killer.ts';
import { seeded } from './random.ts';
import { deleteSchedule, makeSchedule } from './run.ts';
import { work } from './tasks.ts';
import { auditTasks, swept, type TaskCounts } from './tasks-audit.ts';
import { auditWorkspace, leaveWork } from './tasks-git.ts';
import type { Made, People } from './tasks-people.ts';
import { planTasks } from './tasks-plan.ts';
import { invite, talk } from './whatsapp-people.ts';
import { auditBursts, auditLeftovers, type Seen, tally } from './whatsapp-tally.ts';

export interface PairsOptions {
  seed: number;
  /** kills by chance, after each process was killed once and the holder of WhatsApp was frozen once */
  kills: number;
  chats: number;
  tasks: number;
  /** messages of people on WhatsApp */
  messages: number;
  onKill?: (kill: PairKill) => void;
  /** where the logs of all processes and the records of the containers are left */
  keep?: string;
}

export interface PairsResult extends Findings {
  kills: PairKill[];
  tasks: TaskCounts;
  whatsapp: Pick<Seen, 'inbound' | 'outbound' | 'resent' | 'disordered' | 'unreadable' | 'problems'> & {
    pairedAgain: number;
  };
  retries: number;
  due: number;
  seconds: number;
}

/** A question outlives its container. */
const HOLD_MS = 4_000;
const PATIENCE_MS = 180_000;

/**
 * Two of every role on one PostgreSQL and one Temporal server, killed in turn while people write over HTTP and
 * WhatsApp, answer questions, have a schedule and coding tasks; then everything is held against the ledgers, as for one
 * instance.
 */
export async function runPairsChaos(options: PairsOptions): Promise<PairsResult> {
  await requireDocker();
  const fixture = await startWhatsAppFixture();
  const people = invite(fixture);
  const pairs = await startPairs({
    ...fixture.env,
    WHATSAPP_PACE_MS: '0',
    WHATSAPP_NUMBER: 'dedicated',
    WHATSAPP_RATE_LIMIT: '100000',
    TRUSTED_PHONE_NUMBERS: people.numbers.join(','),
    FETCH_AUTONOMY: 'autonomous',
    FETCH_KENNEL_SLOTS: '2',
    FETCH_KENNEL_MEMORY_MB: '512',
    FETCH_TASK_HOLD_MINUTES: String(HOLD_MS / 60_000),
  }).catch(async (error) => {
    await fixture.close();
    throw error;
  });
  try {
    await link(pairs, fixture);
    return await liveAndKill(pairs, fixture, people, options);
  } finally {
    if (options.keep) keep(pairs, options.keep);
    await pairs.close();
    await fixture.close();
  }
}

async function link({ store: { db } }: Pairs, fixture: WhatsAppFixture): Promise<void> {
  await wish(db, 'default', { wanted: 'on' });
  const qr = await until('a QR is shown', async () => (await readAccount(db, 'default'))?.qr, 30_000);
  await fixture.phone.scan(qr);
  await until(
    'WhatsApp is connected',
    async () => (await readAccount(db, 'default'))?.state === 'authenticated',
    30_000,
  );
}

async function liveAndKill(
  pairs: Pairs,
  fixture: WhatsAppFixture,
  people: ReturnType<typeof invite>,
  options: PairsOptions,
): Promise<PairsResult> {
  const begun = Date.now();
  const { db } = pairs.store;
  const random = seeded(options.seed);
  const client = createClient(pairs);
  const expected: Expected[] = [];
  const problems: string[] = [];
  const record = (message: Expected) => void expected.push(message);
  const problem = (text: string) => void problems.push(text);
  const newChat = async (): Promise<Chat> =>
    new Chat(await pairs.thread(), client, seeded(random.between(0, 2 ** 31)), record);

  const workspaces = ['w1', 'w2'];
  for (const name of workspaces) leaveWork((await workspace(pairs, name)).path);
  await until(
    'both hosts have containers',
    async () => (await db.selectFrom('kennel_hosts').select('host').where('ready', '=', true).execute()).length === 2,
  );
  const [probe, waiting, ...talking] = await Promise.all(Array.from({ length: options.chats + 2 }, newChat));
  const answer = await waiting!.leaveQuestion();
  const schedule = await makeSchedule(pairs);

  let over = false;
  let kills = 0;
  const planned = PAIRED.length * 2 + 1 + options.kills;
  // what goes on lasts as long as the killing
  const share = (of: number): number => ((kills + 2) * of) / planned;
  const chats = talking.map(async (chat) => {
    // one that could not be served says nothing more: it would only be told that its turn still runs, thousands of
    // times
    let well = true;
    while (!over && well)
      await chat.message().catch((error: Error) => {
        well = false;
        problem(error.message);
      });
  });
  const made: Made[] = [];
  const crew: People = {
    app: pairs,
    client,
    live: new Map(),
    record,
    problem,
    refused: () => {},
    settled: (id) => atOneOf(pairs, id, random.pick(pairs.hosts)),
  };
  const working = work(
    crew,
    planTasks(random, { tasks: options.tasks, workspaces, holdMs: HOLD_MS }),
    3,
    made,
    (count) => over || count < share(options.tasks),
  );
  const talked = talk(people, {
    messages: options.messages,
    burstEvery: 10,
    random: seeded(options.seed + 1),
    patienceMs: PATIENCE_MS,
    allowed: (sent) => over || sent < share(options.messages),
  });
  const killed: PairKill[] = [];
  const killer = createPairKiller(pairs, random, () =>
    probe!.message('plain').catch((error: Error) => problem(error.message)),
  );
  try {
    while (kills < planned) {
      const rest = kills - PAIRED.length * 2;
      const one =
        rest < 0
          ? await killer.strike(PAIRED[kills % PAIRED.length]!)
          : rest === 0
            ? await killer.strike('frozen')
            : await killer.strikeAny();
      killed.push(one);
      kills += 1;
      options.onKill?.(one);
    }
  } finally {
    over = true;
  }
  const scheduledTo = new Date();
  await Promise.all([...chats, working, talked.over]);
  await allReady(pairs);
  await answer().catch((error: Error) => problem(error.message));
  await deleteSchedule(pairs, schedule.threadId);
  await settled(db);
  await swept(pairs, made);

  const findings = await audit(db, expected, pairs.model.requests());
  findings.lost.push(...problems);
  const due = await auditSchedule(pairs, schedule.threadId, schedule.at, scheduledTo, findings);
  const tasks = await auditTasks(pairs, made, findings);
  for (const name of workspaces) await auditWorkspace(pairs, name, made, findings);
  const seen = tally(fixture, talked.spoken);
  await auditBursts(db, talked.hurried, seen);
  await auditLeftovers(db, seen);
  findings.lost.push(...seen.lost);
  findings.doubled.push(...seen.doubled);
  const { outbound, resent, disordered, unreadable } = seen;
  const whatsapp = {
    ...{ outbound, resent, disordered, unreadable, problems: seen.problems },
    inbound: seen.inbound + talked.hurried.length,
    pairedAgain: fixture.devices.length - 1,
  };
  return {
    ...findings,
    kills: killed,
    tasks,
    whatsapp,
    retries: client.retries(),
    due,
    seconds: Math.round((Date.now() - begun) / 1000),
  };
}

/** Both hosts see every workspace: what is active in a chat says where its tasks begin. */
async function atOneOf({ store: { db } }: Pairs, threadId: string, host: string): Promise<void> {
  await db
    .updateTable('chats')
    .set({ workspace: 'w1', workspace_host: host })
    .where('id', '=', (e) => e.selectFrom('threads').select('chat_id').where('id', '=', threadId))
    .execute();
}

function keep(pairs: Pairs, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const copy of pairs.copies) writeFileSync(join(folder, `${copy.role}-${copy.at}.log`), copy.output());
  cpSync(join(pairs.home, 'kennel'), join(folder, 'kennel'), {
    recursive: true,
    filter: (path) => !path.includes('/gate'),
  });
}
