import { setTimeout as pause } from 'node:timers/promises';
import { script, startTestApp, type TestApp } from '../support/app.ts';
import { audit, auditSchedule, type Findings, settled } from './audit.ts';
import { Chat, type Expected, STATEFUL } from './chats.ts';
import { createClient } from './client.ts';
import { type Kill, killAtRandom, processesOf } from './killer.ts';
import { seeded } from './random.ts';

export interface ChaosOptions {
  seed: number;
  kills: number;
  /** stop killing after so long even when fewer were done */
  maxMinutes?: number;
  /** chats that talk all the while */
  chats: number;
  /** chats that wait on a question all the while */
  waiting: number;
  schedule: boolean;
  /** at least so many firings are due, of many schedules, while processes are killed */
  firings?: number;
  /** the provider of the model wants its state back with each step; only the worker and PostgreSQL are killed */
  strict?: boolean;
  onKill?: (kill: Kill) => void;
}

export interface ChaosResult extends Findings {
  kills: Kill[];
  retries: number;
  questions: number;
  /** firings that were due */
  due: number;
  seconds: number;
}

/**
 * Lets scripted chats talk while processes are killed, then holds everything that was acknowledged against the ledgers.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const app = await startTestApp(processesOf(options.seed), { strict: options.strict });
  try {
    return await talkAndKill(app, options);
  } finally {
    await app.close();
  }
}

async function talkAndKill(app: TestApp, options: ChaosOptions): Promise<ChaosResult> {
  const begun = Date.now();
  const random = seeded(options.seed);
  const client = createClient(app);
  const expected: Expected[] = [];
  const record = (message: Expected) => void expected.push(message);
  const newChat = async (): Promise<Chat> =>
    new Chat(await app.thread(), client, seeded(random.between(0, 2 ** 31)), record);
  const [probe, ...talking] = await Promise.all(Array.from({ length: options.chats + 1 }, newChat));
  const waiting = await Promise.all(Array.from({ length: options.waiting }, newChat));
  const answers = await Promise.all(waiting.map((chat) => chat.leaveQuestion()));
  const crons = options.firings ? MANY_CRONS : 1;
  const scheduledFrom = options.schedule ? await makeSchedule(app, crons) : null;
  const minutes = options.firings ? Math.ceil(options.firings / crons) : 0;

  const problems: string[] = [];
  let over = false;
  const loops = talking.map(async (chat) => {
    // one that could not be served says nothing more: it would only be told that its turn still runs, thousands of
    // times
    let well = true;
    while (!over && well)
      await chat.message(options.strict ? random.pick(STATEFUL) : undefined).catch((error: Error) => {
        well = false;
        problems.push(error.message);
      });
  });
  const until = options.maxMinutes === undefined ? undefined : begun + options.maxMinutes * 60_000;
  const kills = await killAtRandom(
    app,
    random,
    {
      kills: options.kills,
      until,
      onKill: options.onKill,
      ...(options.strict && { victims: ['worker', 'postgres'] }),
      // over all of the time in which schedules fire
      ...(minutes > 0 && { pauseMs: (minutes * 60_000) / options.kills }),
    },
    () => probe!.message('plain').catch((error: Error) => void problems.push(error.message)),
  ).finally(() => {
    over = true;
  });
  if (scheduledFrom) {
    const from = Math.ceil(scheduledFrom.at.getTime() / 60_000) * 60_000;
    await pause(Math.max(0, from + (minutes - 1) * 60_000 - Date.now()));
  }
  const scheduledTo = new Date();
  await Promise.all(loops);
  await app.whenReady();
  const open = await app.store.db.selectFrom('questions').select('id').where('state', '=', 'open').execute();
  if (open.length !== options.waiting) problems.push(`${open.length} of ${options.waiting} questions are still open`);
  await Promise.all(answers.map((answer) => answer().catch((error: Error) => problems.push(error.message))));
  if (scheduledFrom) await deleteSchedule(app, scheduledFrom.threadId, crons);
  await settled(app.store.db);

  const findings = await audit(app.store.db, expected, app.model.requests());
  findings.lost.push(...problems);
  for (const { state, requestId, refusal } of app.model.requests())
    if (state === 'failed') findings.lost.push(`the model refused ${requestId}: ${refusal}`);
  const due = scheduledFrom
    ? await auditSchedule(app, scheduledFrom.threadId, scheduledFrom.at, scheduledTo, findings, crons)
    : 0;
  const seconds = Math.round((Date.now() - begun) / 1000);
  return { ...findings, kills, retries: client.retries(), questions: options.waiting, due, seconds };
}

const MANY_CRONS = 20;
const cronNames = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => (at === 0 ? 'look' : `look again ${at}`));

/** Crons of every minute, made as a person has them made: by tool calls of the model. */
export async function makeSchedule(
  app: Pick<TestApp, 'thread' | 'turn' | 'ended' | 'detail' | 'store'>,
  count = 1,
): Promise<{ threadId: string; at: Date }> {
  const threadId = await app.thread({ auto_approve: true });
  const turnId = await app.turn(threadId, [
    { call: [['workflow_create', { name: 'look', description: 'looks at the crons', steps: ['cron_list'] }]] },
    { call: cronNames(count).map((name) => ['cron_create', { workflow: 'look', name, schedule: '* * * * *' }]) },
    { say: 'made: $LAST' },
  ]);
  await app.ended(threadId, turnId);
  const crons = await app.store.db.selectFrom('crons').select('created_at').execute();
  if (crons.length !== count)
    throw new Error(
      `the schedule was not made: ${JSON.stringify((await app.detail(threadId)).items.map((item) => item.detail))}`,
    );
  return { threadId, at: new Date() };
}

export async function deleteSchedule(app: Pick<TestApp, 'turn' | 'ended'>, threadId: string, count = 1): Promise<void> {
  const call = cronNames(count).map((cron) => ['cron_delete', { cron }]);
  const turnId = await app.turn(threadId, script([{ call }, { say: 'deleted' }] as never));
  await app.ended(threadId, turnId);
}
