import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import packageJson from '../../package.json' with { type: 'json' };
import { reminderWorkflowId, scheduleId } from '../../src/contracts/ids.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { requireDocker } from '../support/docker.ts';
import { startShipping } from '../support/shipping.ts';
import { until } from '../support/until.ts';
import { freeze, historiesOf } from './frozen.ts';
import { shipmentRuns } from './record-shipments.ts';
import {
  freeingTask,
  HOLD_MS,
  lostCommand,
  queuedTask,
  startingThread,
  taskRuns,
  updatedTask,
} from './record-tasks.ts';
import { type HistoryJson, privateParts, scrub } from './scrub.ts';

/**
 * Records golden histories from real runs, all or the named ones: `npm run record-histories [-- NAME...]`. They go into
 * the folder of the version that package.json names. The gate replays every release's folder. A recorded history is
 * never written over: the runs of that release go on in the world. Raise the version first, and record again.
 */

const FOLDER = historiesOf(packageJson.version);
/** small enough that some turns fill it, large enough that no single scenario does */
const MAX_EVENTS = 70;
const REMIND_MS = 4_000;
const EXPIRE_MS = 7_000;
const hours = (ms: number): string => String(ms / 3_600_000);

interface Scene {
  app: TestApp;
  temporal: Client;
}
/** Runs to be kept: workflow id, and run id where it is not the latest. */
type Recorded = Array<{ name: string; workflowId: string; runId?: string }>;

const workflowOf = async ({ app }: Scene, thread: string): Promise<string> => {
  const row = await app.store.db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('chats.workflow_id')
    .where('threads.id', '=', thread)
    .executeTakeFirstOrThrow();
  return row.workflow_id;
};

/** A turn from its script to its end; what happens meanwhile is `during`. */
async function turn(
  scene: Scene,
  script: unknown[],
  during: (thread: string, turn: string) => Promise<unknown> = async () => {},
  thread?: string,
): Promise<string> {
  const { app } = scene;
  const on = thread ?? (await app.thread());
  const id = await app.turn(on, script);
  await during(on, id);
  await app.ended(on, id);
  await sent(scene, on);
  return on;
}

const sent = ({ app }: Scene, thread: string) =>
  until('everything was sent', async () => {
    const rows = await app.store.db.selectFrom('outbox').select('state').where('thread_id', '=', thread).execute();
    return rows.length > 0 && rows.every((row) => row.state !== 'queued');
  });

/**
 * The open question, once the person has it: one that is answered before it is sent is dropped, which is a rare
 * history.
 */
async function question(scene: Scene, thread: string): Promise<{ id: string }> {
  const { app } = scene;
  const open = await until('a question is open', () =>
    app.store.db
      .selectFrom('questions')
      .select('id')
      .where('thread_id', '=', thread)
      .where('state', '=', 'open')
      .executeTakeFirst(),
  );
  await sent(scene, thread);
  return open;
}

const supervised = async (scene: Scene): Promise<string> => {
  const thread = await scene.app.thread();
  await scene.app.store.db
    .updateTable('chats')
    .set({ autonomy: 'supervised' })
    .where('workflow_id', '=', await workflowOf(scene, thread))
    .execute();
  return thread;
};

const ASK = [
  { call: [['ask_user', { question: 'Which colour?', options: ['red', 'green'] }]] },
  { say: 'You chose $LAST' },
];
const CREATE = { name: 'tidy', steps: ['workflow_list|look', 'cron_list|look again'] };

const conversations: Record<string, (scene: Scene) => Promise<string>> = {
  'plain-answer': (scene) => turn(scene, [{ say: 'Hello.' }]),
  'tools-parallel': (scene) =>
    turn(scene, [
      {
        call: [
          ['report_progress', { message: 'one' }],
          ['workflow_list', {}],
          ['cron_list', {}],
          ['read_output', { callId: 'none' }],
          ['no_such_tool', {}],
        ],
      },
      { say: 'done' },
    ]),
  'calls-on-store': (scene) =>
    turn(scene, [
      { call: [['workflow_list', {}]] },
      {
        call: [
          ['report_progress', { message: 'one' }],
          ['recall', {}],
          ['cron_list', {}],
        ],
      },
      { say: 'done' },
    ]),
  'question-answered': (scene) =>
    turn(scene, ASK, async (thread) => {
      await question(scene, thread);
      await scene.app.say(thread, '2');
    }),
  'question-beside-tools': (scene) =>
    turn(
      scene,
      [
        {
          call: [
            ['ask_user', { question: 'Which?' }],
            ['workflow_list', {}],
            ['ask_user', { question: 'And why?' }],
          ],
        },
        { say: 'thanks' },
      ],
      async (thread) => {
        const first = await question(scene, thread);
        await scene.app.say(thread, 'this one');
        await until('the next question', async () => ((await question(scene, thread)).id !== first.id ? true : null));
        await scene.app.say(thread, 'because');
      },
    ),
  'question-expired': (scene) => turn(scene, ASK),
  'approval-allowed': async (scene) =>
    turn(
      scene,
      [{ call: [['workflow_create', CREATE]] }, { say: 'done' }],
      async (thread) =>
        scene.app.request('POST', `/v1/approvals/${(await question(scene, thread)).id}`, { decision: 'allow' }),
      await supervised(scene),
    ),
  'approval-denied': async (scene) =>
    turn(
      scene,
      [{ call: [['workflow_create', CREATE]] }, { say: 'then not' }],
      async (thread) => {
        await question(scene, thread);
        await scene.app.say(thread, 'no');
      },
      await supervised(scene),
    ),
  steered: (scene) =>
    turn(scene, [{ say: 'first answer, slowly', pace: 150 }], async (thread, id) => {
      await until('the model is asked', () =>
        scene.app.model.requests().some((request) => request.requestId.startsWith(id) && request.state === 'open'),
      );
      await scene.app.say(thread, 'SCRIPT:[{"say":"steered"}]');
    }),
  interrupted: async (scene) => {
    const thread = await turn(scene, [{ say: 'word '.repeat(200), pace: 50 }], async (on, id) => {
      await until('the model is asked', () =>
        scene.app.model.requests().some((request) => request.requestId.startsWith(id) && request.state === 'open'),
      );
      await scene.app.say(on, 'stop');
    });
    return turn(scene, [{ say: 'back' }], undefined, thread);
  },
  'interrupted-question': (scene) =>
    turn(scene, ASK, async (thread) => {
      await question(scene, thread);
      await scene.app.say(thread, 'stop');
    }),
  'model-refused': (scene) => turn(scene, [{ fail: 401 }]),
  'model-retried': (scene) => turn(scene, [{ fail: 500, times: 2, say: 'recovered' }]),
  'status-reply': async (scene) => {
    const thread = await scene.app.thread();
    await scene.app.say(thread, 'status');
    await sent(scene, thread);
    return thread;
  },
};

async function continuedAsNew(scene: Scene): Promise<Recorded> {
  const thread = await scene.app.thread();
  const handle = async () => scene.temporal.workflow.getHandle(await workflowOf(scene, thread));
  await turn(scene, [{ say: 'turn 1' }], undefined, thread);
  const first = (await (await handle()).describe()).runId;
  for (let n = 2; (await (await handle()).describe()).runId === first; n++) {
    if (n > 20) throw new Error('the conversation never continued as new');
    await turn(scene, [{ say: `turn ${n}` }], () => scene.app.say(thread, 'status'), thread);
  }
  await turn(scene, [{ say: 'after it' }], undefined, thread);
  const workflowId = await workflowOf(scene, thread);
  return [
    { name: 'conversation-continues-as-new', workflowId, runId: first },
    { name: 'conversation-continued', workflowId },
  ];
}

async function routines(scene: Scene): Promise<Recorded> {
  const { app, temporal } = scene;
  const thread = await turn(scene, [{ call: [['workflow_create', CREATE]] }, { say: 'made' }]);
  const failing = {
    name: 'broken',
    steps: ['workflow_list', { tool: 'read_output', args: { callId: 'none' } }, 'cron_list'],
  };
  await turn(scene, [{ call: [['workflow_create', failing]] }, { say: 'made' }], undefined, thread);
  const cron = { workflow: 'tidy', schedule: '0 0 1 1 *' };
  await turn(
    scene,
    [
      {
        call: [
          ['workflow_run', { workflow: 'tidy' }],
          ['workflow_run', { workflow: 'broken' }],
          ['cron_create', cron],
        ],
      },
      { say: 'started' },
    ],
    undefined,
    thread,
  );
  const { id } = await app.store.db.selectFrom('crons').select('id').executeTakeFirstOrThrow();
  // a firing as the schedule makes it, without the wait for the new year
  await temporal.schedule.getHandle(scheduleId(id)).trigger();
  const runs = await until('three runs have ended', async () => {
    const rows = await app.store.db.selectFrom('routine_runs').selectAll().where('status', '!=', 'running').execute();
    return rows.length === 3 ? rows : null;
  });
  // a run whose step failed fails as a workflow
  for (const run of runs)
    await temporal.workflow
      .getHandle(run.workflow_id)
      .result()
      .catch(() => {});
  return runs.map((run) => ({
    name: `routine-${run.cron_id ? 'scheduled' : run.status}`,
    workflowId: run.workflow_id,
  }));
}

async function saidReminder({ app, temporal }: Scene): Promise<Recorded> {
  await app.say(await app.thread(), 'remind me to stretch in 2 seconds');
  const { id } = await app.store.db.selectFrom('reminders').select('id').executeTakeFirstOrThrow();
  const workflowId = reminderWorkflowId(id);
  await until('it is there', () =>
    temporal.workflow
      .getHandle(workflowId)
      .describe()
      .catch(() => null),
  );
  await temporal.workflow.getHandle(workflowId).result();
  return [{ name: 'reminder-said', workflowId }];
}

const only = process.argv.slice(2);
const there = existsSync(FOLDER) ? readdirSync(FOLDER).map((file) => file.replace('.json', '')) : [];
const again = only.length === 0 ? there : there.filter((name) => only.includes(name));
if (again.length > 0)
  throw new Error(
    `${packageJson.version} has recorded histories already, and they are never written over: ${again.join(', ')}`,
  );
const wanted = (name: string) => only.length === 0 || only.includes(name);

/** Writes what was played into the folder of the release. */
async function keep(temporal: Client, recorded: Recorded): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  for (const { name, workflowId, runId } of recorded.filter((each) => wanted(each.name))) {
    const history = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const scrubbed = scrub(JSON.parse(historyToJSON(history)) as HistoryJson);
    const left = privateParts(scrubbed);
    if (left.length > 0) throw new Error(`${name} would publish something private:\n${left.join('\n')}`);
    const file = join(FOLDER, `${name}.json`);
    writeFileSync(file, `${JSON.stringify({ workflowId, ...scrubbed }, null, 1)}\n`, { flag: 'wx' });
    freeze(packageJson.version, file);
    console.log(`${name}: ${scrubbed.events.length} events`);
  }
}

async function recordShipments(): Promise<void> {
  // a look each second, so that a history holds what happened rather than looks
  const shipping = await startShipping({ FETCH_SHIP_LOOK_SECONDS: '0.5' });
  try {
    const recorded: Recorded = [];
    for (const [name, play] of Object.entries(shipmentRuns))
      if (wanted(name)) recorded.push({ name, ...(await play(shipping)) });
    await keep(shipping.releases.temporal, recorded);
  } finally {
    await shipping.close();
  }
}

async function recordOthers(): Promise<void> {
  await requireDocker();
  const app = await startTestApp({
    // a golden history is read by every release
    FETCH_PAYLOAD_KEYS: 'off',
    FETCH_MAX_HISTORY_EVENTS: String(MAX_EVENTS),
    FETCH_QUESTION_REMIND_HOURS: hours(REMIND_MS),
    FETCH_QUESTION_EXPIRE_HOURS: hours(EXPIRE_MS),
    FETCH_TASK_HOLD_MINUTES: String(HOLD_MS / 60_000),
  });
  const connection = await Connection.connect({ address: app.temporalAddress });
  try {
    const scene: Scene = { app, temporal: new Client({ connection }) };
    const recorded: Recorded = [];
    for (const [name, play] of Object.entries(conversations)) {
      if (!wanted(`conversation-${name}`)) continue;
      recorded.push({ name: `conversation-${name}`, workflowId: await workflowOf(scene, await play(scene)) });
      console.log(`played conversation-${name}`);
    }
    if (only.length === 0 || only.some((name) => /^routine-|^conversation-continue/.test(name)))
      recorded.push(...(await continuedAsNew(scene)), ...(await routines(scene)));
    if (wanted('reminder-said')) recorded.push(...(await saidReminder(scene)));
    for (const [name, play] of Object.entries({
      ...taskRuns,
      'task-queued': queuedTask,
      'task-frees-workspace': freeingTask,
      'task-updated': updatedTask,
    })) {
      if (!wanted(name)) continue;
      const workflowId = await play(app);
      await scene.temporal.workflow.getHandle(workflowId).result();
      recorded.push({ name, workflowId });
    }
    for (const [name, play] of Object.entries({
      'conversation-starts-task': startingThread,
      'conversation-command-lost': lostCommand,
    })) {
      if (wanted(name)) recorded.push({ name, workflowId: await workflowOf(scene, await play(app)) });
    }
    await keep(scene.temporal, recorded);
  } finally {
    await connection.close();
    await app.close();
  }
}

if (only.some((name) => !(name in shipmentRuns)) || only.length === 0) await recordOthers();
if (Object.keys(shipmentRuns).some(wanted)) await recordShipments();
