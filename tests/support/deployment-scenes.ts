import { setTimeout as pause } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { createReconcile } from '../../src/gateway/intake/reconcile/reconcile.ts';
import { resignal } from '../../src/gateway/intake/reconcile/sweeper.ts';
import { recordWorkspaces } from '../../src/store/kennel/workspaces/workspaces.ts';
import { script } from './app.ts';
import type { Releases } from './releases.ts';
import { until } from './until.ts';

/**
 * Chats and coding tasks in every state that a deployment may meet, what lets each go on, and what must be so in the
 * end.
 */

export const CHAT_STATES = ['idle', 'question', 'approval', 'working', 'arriving'] as const;
export const TASK_STATES = ['waiting', 'parked', 'running', 'queued', 'paused'] as const;
type ChatState = (typeof CHAT_STATES)[number];
type TaskState = (typeof TASK_STATES)[number];

export interface Chat {
  state: ChatState;
  threadId: string;
}
export interface TaskOfChat {
  state: TaskState;
  threadId: string;
  taskId: string;
  goal: string;
}
export interface World {
  chats: Chat[];
  tasks: TaskOfChat[];
}

const LANES = 12;
/** Words of an answer that is being written while workers change, and milliseconds for each. */
const WORDS = 20;
const PACE_MS = 250;
const HOLD_SHORT_MS = 500;
const HOLD_LONG_MS = 3_600_000;
const STUCK_MS = 120_000;

const turns: Record<Exclude<ChatState, 'arriving'>, unknown[]> = {
  idle: [{ say: 'Hello.' }],
  question: [{ call: [['ask_user', { question: 'Which colour?' }]] }, { say: 'You chose $LAST' }],
  approval: [{ call: [['workflow_create', { name: 'tidy', steps: ['workflow_list'] }]] }, { say: 'done' }],
  working: [{ say: 'word '.repeat(WORDS), pace: PACE_MS }],
};

/** Runs something for each item, some at a time. */
export async function each<T>(items: readonly T[], run: (item: T, index: number) => Promise<unknown>): Promise<void> {
  const queue = items.entries();
  const lane = async () => {
    for (const [index, item] of queue) await run(item, index);
  };
  await Promise.all(Array.from({ length: Math.min(LANES, items.length) }, lane));
}

let made = 0;
const key = (): string => {
  made += 1;
  return `key-${made}`;
};

const newThread = async ({ intake, store }: Releases, supervised = false): Promise<string> => {
  const thread = await intake.channelThread('api', key());
  if (supervised)
    await store.db
      .updateTable('chats')
      .set({ autonomy: 'supervised' })
      .where('id', '=', (e) => e.selectFrom('threads').select('chat_id').where('threads.id', '=', thread.id))
      .execute();
  return thread.id;
};

export const begin = async ({ intake }: Releases, threadId: string, steps: unknown[]): Promise<string> =>
  (await intake.startTurn({ threadId, prompt: script(steps), channelMessageId: key() })).turn.id;

const openQuestionOf = ({ store }: Releases, threadId: string) =>
  store.db
    .selectFrom('questions')
    .select(['id', 'kind'])
    .where('thread_id', '=', threadId)
    .where('state', '=', 'open')
    .executeTakeFirst();

const openTurns = async ({ store }: Releases, threadId: string): Promise<number> =>
  (
    await store.db
      .selectFrom('turns')
      .select('id')
      .where('thread_id', '=', threadId)
      .where('status', '=', 'in_progress')
      .execute()
  ).length;

/**
 * Makes `count` chats, the states in turn, and tasks in every state; each is in its state when this returns. Needs a
 * worker.
 */
export async function populate(releases: Releases, counts: { chats: number; tasks: number }): Promise<World> {
  const { store } = releases;
  const chats: Chat[] = Array.from({ length: counts.chats }, (_, index) => ({
    state: CHAT_STATES[index % CHAT_STATES.length]!,
    threadId: '',
  }));
  const settle = (chat: Chat) =>
    chat.state === 'question' || chat.state === 'approval'
      ? until(`${chat.state} is open`, () => openQuestionOf(releases, chat.threadId))
      : until('the turn has ended', async () => (await openTurns(releases, chat.threadId)) === 0);
  const settled = each(
    chats.filter((chat) => chat.state !== 'working'),
    async (chat) => {
      chat.threadId = await newThread(releases, chat.state === 'approval');
      // one that will be written to while no worker runs has slept until then
      await begin(releases, chat.threadId, turns[chat.state === 'arriving' ? 'idle' : chat.state]);
      await settle(chat);
    },
  );
  const [tasks] = await Promise.all([populateTasks(releases, counts.tasks), settled]);
  await each(
    chats.filter((chat) => chat.state === 'working'),
    async (chat) => {
      chat.threadId = await newThread(releases);
      const turnId = await begin(releases, chat.threadId, turns.working);
      await until('its turn is on its way', () =>
        store.db
          .selectFrom('turns')
          .select('id')
          .where('id', '=', turnId)
          .where('status', '=', 'in_progress')
          .executeTakeFirst(),
      );
    },
  );
  return { chats, tasks };
}

/** A routine that is due once a year; the id of its cron. */
export async function populateSchedule(releases: Releases): Promise<string> {
  const { store } = releases;
  const threadId = await newThread(releases);
  const name = `yearly ${key()}`;
  await begin(releases, threadId, [
    { call: [['workflow_create', { name, steps: ['workflow_list'] }]] },
    { call: [['cron_create', { workflow: name, schedule: '0 0 1 1 *' }]] },
    { say: 'made' },
  ]);
  await until('the turn has ended', async () => (await openTurns(releases, threadId)) === 0);
  const rows = await store.db
    .selectFrom('crons')
    .innerJoin('threads', 'threads.chat_id', 'crons.chat_id')
    .select('crons.id')
    .where('threads.id', '=', threadId)
    .execute();
  if (!rows[0]) throw new Error('no schedule was made');
  return rows[0].id;
}

async function populateTasks(releases: Releases, count: number): Promise<TaskOfChat[]> {
  const { store, intake, config } = releases;
  const round = key();
  const wanted = Array.from({ length: count }, (_, index) => ({
    state: TASK_STATES[index % TASK_STATES.length]!,
    place: `${round}-${index}`,
  }));
  const known = (await store.db.selectFrom('workspaces').select(['name', 'path']).execute()).concat(
    wanted.flatMap(({ place }) => [{ name: place, path: `/workspaces/${place}` }]),
  );
  await recordWorkspaces(store.db, config.FETCH_KENNEL_HOST, known);
  const tasks: TaskOfChat[] = [];
  const start = async (state: TaskState, goal: string, place: string): Promise<TaskOfChat> => {
    const threadId = await newThread(releases);
    const turn = await begin(releases, threadId, [
      { call: [['task_create', { goal, agent: 'practice', workspace: place, timeout: 3_600_000 }]] },
      { say: '$LAST' },
    ]);
    const row = await until('the task is made', () =>
      store.db
        .selectFrom('tasks')
        .innerJoin('calls', 'calls.id', 'tasks.call_id')
        .select('tasks.id')
        .where('calls.turn_id', '=', turn)
        .executeTakeFirst(),
    );
    await until('the turn that made it has ended', async () => (await openTurns(releases, threadId)) === 0);
    const task = { state, threadId, taskId: row.id, goal };
    tasks.push(task);
    return task;
  };
  const inState = (taskId: string, state: string) =>
    until(`the task is ${state}`, async () => (await taskRow(releases, taskId)).state === state);
  // how long a question keeps its container is decided when a task is made
  for (const [state, hold] of [
    ['parked', HOLD_SHORT_MS],
    ['other', HOLD_LONG_MS],
  ] as const) {
    config.FETCH_TASK_HOLD_MINUTES = hold / 60_000;
    await each(
      wanted.filter((each) => (each.state === 'parked') === (state === 'parked')),
      async ({ state, place }) => {
        if (state === 'waiting' || state === 'parked') {
          const task = await start(state, `ask ${place}`, place);
          await inState(task.taskId, 'waiting');
          if (state === 'parked')
            await until('its container is ended', () => doing(releases, task.taskId, 'its container is ended'));
          return;
        }
        const task = await start(state === 'queued' ? 'running' : state, `hold ${place}`, place);
        await inState(task.taskId, 'running');
        if (state === 'queued') {
          const second = await start('queued', `hold ${place}-second`, place);
          await until('it waits', () => doing(releases, second.taskId, 'waits for its workspace'));
        }
        if (state === 'paused') {
          await until('it works', () => doing(releases, task.taskId, 'works'));
          await intake.say({ threadId: task.threadId, text: `pause ${task.taskId}`, channelMessageId: key() });
          await inState(task.taskId, 'paused');
        }
      },
    );
  }
  return tasks;
}

export const taskRow = ({ store }: Releases, id: string) =>
  store.db.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** What its workflow says that it does. */
const doing = async ({ temporal }: Releases, taskId: string, words: string): Promise<boolean> =>
  (await temporal.workflow.getHandle(`task/${taskId}`).query<{ doing: string }>('view')).doing.includes(words);

/** People write to sleeping chats while no worker runs, or while workers change. */
export const write = (releases: Releases, { chats }: World): Promise<void> =>
  each(
    chats.filter((chat) => chat.state === 'arriving'),
    (chat) => begin(releases, chat.threadId, [{ say: 'Good morning.' }]),
  );

/** Everybody answers, resumes and lets go; then each chat is written to once more. */
export async function goOn(releases: Releases, { chats, tasks }: World): Promise<void> {
  const { intake } = releases;
  await each(chats, async (chat) => {
    const question = await openQuestionOf(releases, chat.threadId);
    if (question?.kind === 'approval')
      await intake.decide({ approvalId: question.id, decision: 'allow', remember: false, channelMessageId: key() });
    else if (question) await answer(releases, chat.threadId, question.id);
  });
  await each(tasks, async (task) => {
    const question = await openQuestionOf(releases, task.threadId);
    if (question) await answer(releases, task.threadId, question.id);
    if ((await taskRow(releases, task.taskId)).state === 'paused')
      await intake.say({ threadId: task.threadId, text: `resume ${task.taskId}`, channelMessageId: key() });
    releases.release(task.goal.split(' ')[1]!);
  });
  const open = await whenEnded(releases, chats, (chat) => begin(releases, chat.threadId, [{ say: 'And again.' }]));
  if (open.length > 0)
    throw new Error(
      `turns did not end: ${open.length} of ${chats.length} chats, that were ${[...new Set(open.map(({ state }) => state))]}`,
    );
}

/**
 * Waits until the turns of these chats have ended, however many there are, and runs something for each chat then. Gives
 * up when none has ended for as long as `STUCK_MS`: returns those chats.
 */
async function whenEnded(
  { store }: Releases,
  chats: readonly Chat[],
  run: (chat: Chat) => Promise<unknown> = async () => {},
): Promise<Chat[]> {
  let waiting = chats;
  let moved = Date.now();
  while (waiting.length > 0 && Date.now() - moved < STUCK_MS) {
    const rows = await store.db.selectFrom('turns').select('thread_id').where('status', '=', 'in_progress').execute();
    const open = new Set(rows.map((row) => row.thread_id));
    const ended = waiting.filter((chat) => !open.has(chat.threadId));
    waiting = waiting.filter((chat) => open.has(chat.threadId));
    await each(ended, run);
    if (ended.length > 0) moved = Date.now();
    else await pause(100);
  }
  return [...waiting];
}

const answer = ({ intake }: Releases, threadId: string, inputId: string): Promise<void> =>
  intake.answer({ threadId, inputId, answers: [{ id: 'a', label: 'blue', value: 'blue' }], channelMessageId: key() });

/** What the gateway does of its own every half minute, without the wait. */
export async function reconcileNow({ store, temporal, config }: Releases): Promise<void> {
  const deps = { db: store.db, temporal, config };
  await createReconcile(deps)(0);
  await resignal(deps, { after: null }, 0, 10_000);
}

/** The same again and again beside what a test does; returns how to end it. */
export function reconcileOften(releases: Releases): () => Promise<void> {
  const { store, temporal, config } = releases;
  const deps = { db: store.db, temporal, config };
  let reconcile = createReconcile(deps);
  let count = 0;
  const round = async () => {
    // its first ten rounds look at every run for older code: five minutes of a gateway, and here five seconds
    if (count++ % 10 === 9) reconcile = createReconcile(deps);
    await reconcile(0);
    await resignal(deps, { after: null }, 0, 10_000);
  };
  let stopped = false;
  const rounds = (async () => {
    while (!stopped) {
      await round().catch(() => {});
      await pause(500);
    }
  })();
  return async () => {
    stopped = true;
    await rounds;
  };
}

/** Ids of the conversations. */
export async function workflowsOf(
  { store }: Releases,
  { chats }: { chats: ReadonlyArray<{ threadId: string }> },
): Promise<string[]> {
  const rows = await store.db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('chats.workflow_id')
    .where(
      'threads.id',
      'in',
      chats.map(({ threadId }) => threadId),
    )
    .execute();
  return rows.map((row) => row.workflow_id);
}

/**
 * Waits until everything has ended, and says everything that is not as it must be. `strict`: no task of a workflow may
 * have failed on the way either. Not so where older code meets what newer code did: there it stops first, and begins
 * again. Nor while a server's queues learn that another build is current.
 */
export async function findings(releases: Releases, { chats, tasks }: World, strict = false): Promise<string[]> {
  const found: string[] = [];
  const { store, temporal } = releases;
  for (const { state } of await whenEnded(releases, chats)) found.push(`a chat that was ${state}: a turn did not end`);
  await each(chats, async ({ threadId, state }) => {
    const rows = await store.db
      .selectFrom('turns')
      .select(['status', 'id'])
      .where('thread_id', '=', threadId)
      .execute();
    for (const row of rows)
      if (row.status !== 'completed' && row.status !== 'in_progress')
        found.push(`a chat that was ${state}: turn ${row.id} is ${row.status}`);
  });
  await each(tasks, async ({ taskId, state }) => {
    const ended = await until(
      'the task has ended',
      async () => (await taskRow(releases, taskId)).ended_at,
      120_000,
    ).catch(() => null);
    const row = await taskRow(releases, taskId);
    if (!ended || row.state !== 'completed') found.push(`a task that was ${state} is ${row.state}: ${row.reason}`);
  });
  await until(
    'everything was sent',
    async () =>
      (await store.db.selectFrom('outbox').select('id').where('state', '=', 'queued').limit(1).execute()).length === 0,
    60_000,
  ).catch(() => found.push('something was not sent'));
  const twice = await store.db
    .selectFrom('outbox')
    .select(['turn_id', 'kind'])
    .where('kind', '=', 'answer')
    .groupBy(['turn_id', 'kind'])
    .having((e) => e.fn.countAll(), '>', 1)
    .execute();
  for (const { turn_id } of twice) found.push(`turn ${turn_id} was answered twice`);
  await each(
    [...(await workflowsOf(releases, { chats: [...chats, ...tasks] })), ...tasks.map(({ taskId }) => `task/${taskId}`)],
    async (workflowId) => {
      const handle = temporal.workflow.getHandle(workflowId);
      // a server that began with an empty file knows nothing of chats to which nothing has happened since
      const described = () =>
        handle.describe().catch((error: Error) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
          return { raw: null, status: { name: 'gone' } };
        });
      const isStuck = ({ raw }: Awaited<ReturnType<typeof described>>) =>
        Number(raw?.pendingWorkflowTask?.attempt ?? 0) > 1;
      await until('it is not stuck', async () => !isStuck(await described()), 90_000).catch(() => {});
      const last = await described();
      if (isStuck(last)) found.push(`${workflowId} is stuck at a workflow task (${last.status.name})`);
      if (last.raw && strict) for (const failure of await failures(handle)) found.push(`${workflowId}: ${failure}`);
    },
  );
  return found;
}

const failures = async (handle: {
  fetchHistory(): Promise<{
    events?: Array<{
      workflowTaskFailedEventAttributes?: { failure?: { message?: string | null } | null } | null;
    }> | null;
  }>;
}): Promise<string[]> =>
  ((await handle.fetchHistory()).events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed ? [failed.failure?.message ?? 'a workflow task failed'] : [],
  );
