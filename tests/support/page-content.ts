import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { reportHost } from '../../src/store/kennel/hosts.ts';
import { storeLines } from '../../src/store/kennel/tasks/task-log.ts';
import { endTask, insertTask, type Task } from '../../src/store/kennel/tasks/tasks.ts';
import { addTaskUsage } from '../../src/store/kennel/tasks/usage.ts';
import { saveWorkspace } from '../../src/store/kennel/workspaces/workspaces.ts';
import { callsThen, type TestApp } from './app.ts';
import { newThread } from './thread.ts';

/** Every text that somebody else than the owner may have written, by where the page shows it. */
export interface PageTexts {
  chat: string;
  /** Markdown of the model */
  said: string;
  routine: string;
  reminder: string;
  goal: string;
  workspace: string;
  branch: string;
  file: string;
  /** of a coding task: its report, and what a command printed */
  report: string;
  output: string;
  question: string;
  choices: [string, string];
  /** shown with an approval */
  evidence: string;
}

export const PLAIN_TEXTS: PageTexts = {
  chat: 'Release of the shop',
  said: 'The **checkout** is ready.\n\n| step | state |\n|---|---|\n| tests | pass |\n| notes | `CHANGELOG.md` |',
  routine: 'nightly tidy',
  reminder: 'renew the certificate',
  goal: 'Show the delivery date in the checkout',
  workspace: 'shop',
  branch: 'delivery-date',
  file: 'src/checkout.ts',
  report: 'The checkout shows when a parcel arrives. Weekends are left out.',
  output: '12 tests passed',
  question: 'Which calendar counts for weekends?',
  choices: ['The shop’s', 'The customer’s'],
  evidence: 'Removes branches that were merged, each night.',
};

/** Not the host of the instance itself, whose reports remove workspaces that it does not have. */
const HOST = 'laptop';

export interface PageContent {
  /** a chat in which the model said something and called tools */
  thread: string;
  task: Task;
  /** its turn waits for an answer to a question */
  asking: { thread: string; turn: string };
  /** its turn waits for a yes */
  approving: { thread: string; turn: string };
}

/**
 * Fills each part of the page. What a coding task leaves behind is stored as its workflow would; everything else goes
 * through the API.
 */
export async function fillPage(app: TestApp, texts: PageTexts): Promise<PageContent> {
  const thread = await app.thread({ auto_approve: true });
  await app.request('PATCH', `/v1/threads/${thread}`, { title: texts.chat });
  const routine = { name: texts.routine, description: texts.evidence, steps: ['workflow_list'] };
  const calls = callsThen(
    [
      ['workflow_create', routine],
      ['cron_create', { workflow: texts.routine, schedule: '0 3 * * *' }],
      ['workflow_list', {}],
    ],
    texts.said,
  );
  await app.ended(thread, await app.turn(thread, calls));
  await app.request('POST', '/v1/owner/schedules', {
    text: `remind me to ${texts.reminder} in 20 minutes`,
    thread_id: thread,
  });
  const task = await endedTask(app, thread, texts);
  const asking = await app.thread();
  const approving = await app.thread();
  return {
    thread,
    task,
    asking: {
      thread: asking,
      turn: await app.turn(asking, [
        { call: [['ask_user', { question: texts.question, options: texts.choices }]] },
        { say: 'You chose: $LAST' },
      ]),
    },
    approving: {
      thread: approving,
      turn: await app.turn(approving, [{ call: [['workflow_create', routine]] }, { say: '$LAST' }]),
    },
  };
}

async function endedTask({ store: { db } }: TestApp, thread: string, texts: PageTexts): Promise<Task> {
  const { chat_id } = await db
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', thread)
    .executeTakeFirstOrThrow();
  const id = `tsk_${randomBytes(6).toString('hex')}`;
  const { workspace, branch, file } = texts;
  const about = {
    id,
    chat_id,
    call_id: `call_${id}`,
    workflow_id: `task/${id}`,
    goal: texts.goal,
    agent: 'practice',
    harness: 'practice' as const,
  };
  const task = (await insertTask(db, { ...about, host: HOST, workspace, worktree: false, timeout_ms: 60_000 }))!;
  const changes = {
    commit: 'abc1234',
    branch,
    files: [{ path: file, status: 'modified' as const, added: 1, removed: 1 }],
    added: 1,
    removed: 1,
    test: null,
  };
  const tests = { command: 'npm test', ok: true, output: texts.output };
  const verdict = {
    level: 'partly' as const,
    headline: ', tests pass, but not all of those that ran before',
    reasons: [`Now skipped: \`${texts.file}\`.`],
    ...{ passed: 11, failed: 0, skipped: 1 },
  };
  await endTask(db, id, {
    state: 'completed',
    reason: 'done',
    result: { summary: texts.report, changes, tests, said: texts.said, verdict },
    outboxId: `out_${id}`,
  });
  const at = new Date().toISOString();
  const diff = `--- ${file}\n+++ ${file}\n@@ -1,2 +1,2 @@\n const days = 2;\n-return null;\n+return arrival(days);`;
  await storeLines(db, task, [
    { seq: 1, step: 1, at, type: 'text', messageId: 'm1', text: texts.said },
    { seq: 2, step: 1, at, type: 'tool', id: 't1', title: file, kind: 'edit', status: 'completed', detail: diff },
    {
      seq: 3,
      step: 1,
      at,
      type: 'tool',
      id: 't2',
      title: texts.output,
      kind: 'execute',
      status: 'completed',
      detail: texts.output,
    },
  ]);
  const used = { model: 'scripted', calls: 4, inputTokens: 41_000, outputTokens: 2_300, microUsd: 180_000 };
  await addTaskUsage(db, id, [used], 'UTC');
  const git = { branch, head: 'abc', modified: 2, untracked: 1, ahead: 1, behind: 0, remote: null };
  const profile = { language: 'TypeScript', framework: null, packageManager: 'npm', test: null, git };
  await saveWorkspace(db, { host: HOST, name: workspace, path: `/workspaces/${id}`, profile });
  await reportHost(db, {
    host: HOST,
    slots: 2,
    ready: true,
    problem: null,
    harnesses: [{ name: 'practice', ready: true, why: null }],
  });
  return task;
}

/**
 * As many chats, ended tasks, and items of one turn. Only the rows: the page shows what is stored. Returns the thread
 * of that turn.
 */
export async function fillMuch(
  app: TestApp,
  { chats, tasks, items }: { chats: number; tasks: number; items: number },
): Promise<string> {
  const { db } = app.store;
  const thread = await app.thread();
  const turn = await app.turn(thread, [{ say: 'ready' }]);
  await app.ended(thread, turn);
  await sql`insert into items (id, turn_id, thread_id, kind, status, summary, detail, started_at, ended_at)
    select 'item_page' || n, ${turn}, ${thread}, case when n % 5 = 0 then 'agent_message' else 'tool_call' end, 'completed', 'step ' || n,
      case when n % 5 = 0 then 'A **message** with a [link](https://site.example/' || n || ')' else repeat('output ', 20) end, now() + n * interval '1 ms', now() + n * interval '1 ms'
    from generate_series(1, ${items}) n`.execute(db);
  // each task is a turn of its thread, and would stand between the long one and the end
  const { chatId: chat_id } = await newThread(db);
  for (let at = 1; at < chats; at += 1) await newThread(db);
  for (let at = 0; at < tasks; at += 1) {
    const id = `tsk_page${at}`;
    const about = {
      chat_id,
      call_id: `call_${id}`,
      workflow_id: `task/${id}`,
      agent: 'practice',
      harness: 'practice' as const,
      host: HOST,
    };
    await insertTask(db, { ...about, id, goal: `Task ${at}`, workspace: 'demo', worktree: false, timeout_ms: 60_000 });
    await endTask(db, id, {
      state: 'completed',
      reason: 'done',
      result: { summary: 'done', changes: null, tests: null, said: '' },
      outboxId: `out_${id}`,
    });
  }
  return thread;
}
