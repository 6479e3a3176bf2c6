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
  /** the provider of the model wants its state back with each step; only the worker and PostgreSQL are killed */
  strict?: boolean;
  onKill?: (kill: Kill) => void;
}

export interface ChaosResult extends Findings {
  kills: Kill[];
  retries: number;
  questions: number;
  /** minutes at which the schedule was due */
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
  const scheduledFrom = options.schedule ? await makeSchedule(app) : null;

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
    { kills: options.kills, until, onKill: options.onKill, ...(options.strict && { victims: ['worker', 'postgres'] }) },
    () => probe!.message('plain').catch((error: Error) => void problems.push(error.message)),
  ).finally(() => {
    over = true;
  });
  const scheduledTo = new Date();
  await Promise.all(loops);
  await app.whenReady();
  const open = await app.store.db.selectFrom('questions').select('id').where('state', '=', 'open').execute();
  if (open.length !== options.waiting) problems.push(`${open.length} of ${options.waiting} questions are still open`);
  await Promise.all(answers.map((answer) => answer().catch((error: Error) => problems.push(error.message))));
  if (scheduledFrom) await deleteSchedule(app, scheduledFrom.threadId);
  await settled(app.store.db);

  const findings = await audit(app.store.db, expected, app.model.requests());
  findings.lost.push(...problems);
  for (const { state, requestId, refusal } of app.model.requests())
    if (state === 'failed') findings.lost.push(`the model refused ${requestId}: ${refusal}`);
  const due = scheduledFrom
    ? await auditSchedule(app, scheduledFrom.threadId, scheduledFrom.at, scheduledTo, findings)
    : 0;
  const seconds = Math.round((Date.now() - begun) / 1000);
  return { ...findings, kills, retries: client.retries(), questions: options.waiting, due, seconds };
}

/** A cron of every minute, made as a person has it made: by tool calls of the model. */
export async function makeSchedule(
  app: Pick<TestApp, 'thread' | 'turn' | 'ended' | 'detail' | 'store'>,
): Promise<{ threadId: string; at: Date }> {
  const threadId = await app.thread({ auto_approve: true });
  const turnId = await app.turn(threadId, [
    { call: [['workflow_create', { name: 'look', description: 'looks at the crons', steps: ['cron_list'] }]] },
    { call: [['cron_create', { workflow: 'look', schedule: '* * * * *' }]] },
    { say: 'made: $LAST' },
  ]);
  await app.ended(threadId, turnId);
  const crons = await app.store.db.selectFrom('crons').select('created_at').execute();
  if (crons.length !== 1)
    throw new Error(
      `the schedule was not made: ${JSON.stringify((await app.detail(threadId)).items.map((item) => item.detail))}`,
    );
  return { threadId, at: new Date() };
}

export async function deleteSchedule(app: Pick<TestApp, 'turn' | 'ended'>, threadId: string): Promise<void> {
  const turnId = await app.turn(threadId, script([{ call: [['cron_delete', { cron: 'look' }]] }, { say: 'deleted' }]));
  await app.ended(threadId, turnId);
}
