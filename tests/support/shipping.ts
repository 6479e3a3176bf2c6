import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KennelDeps } from '../../src/activities/activity-deps.ts';
import { createShipmentHost } from '../../src/activities/shipment/shipment-host.ts';
import { createAct, createPreview } from '../../src/activities/turn/act.ts';
import { buildWorkflowBundle, entryOf } from '../../src/cli/roles/temporal/workflow-bundle.ts';
import type { Shipment } from '../../src/store/kennel/shipments/shipments.ts';
import { taskOutboxId, tellOfTask } from '../../src/store/kennel/tasks/task-news.ts';
import { endTask, findTask, type Task, waitingFor } from '../../src/store/kennel/tasks/tasks.ts';
import { recordWorkspaces, selectWorkspace } from '../../src/store/kennel/workspaces/workspaces.ts';
import type { Question } from '../../src/store/turns/questions/questions.ts';
import { startGitHub, type TestGitHub } from './github.ts';
import { processKennel } from './process-kennel.ts';
import { type Releases, startReleases } from './releases.ts';
import { newThread } from './thread.ts';
import { until } from './until.ts';

/**
 * Everything that a pull request needs, on real servers: PostgreSQL, Temporal, a local GitHub and its bare repository.
 * The host has no containers; git runs in the workspace, and a script says what an agent would do. Two days between two
 * looks are a tenth of a second here.
 */
export interface Shipping {
  releases: Releases;
  github: TestGitHub;
  /** what the agent of the next task does; it says its last word */
  agent(task: Task): { files?: Record<string, string>; said?: string; fails?: true };
  /** a workspace with one commit more than its repository on the server, and a chat about it */
  scene(): Promise<Scene>;
  /** says `ship` in a new scene, and waits until the pull request is there */
  shipped(words?: string): Promise<Scene>;
  /** another worker in place of the first one; it knows the workflows by their histories alone */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** One repository, its workspace, and a chat about it. */
export interface Scene {
  thread: string;
  chat: string;
  shipment(): Promise<Shipment>;
  branch(): Promise<string>;
  head(): Promise<string>;
  said(): Promise<string[]>;
  says(words: string): Promise<void>;
  /** the open question, once it is asked */
  asked(words: RegExp): Promise<Question>;
  answer(words: RegExp, decision: 'allow' | 'deny'): Promise<void>;
  /** answers a question that takes words */
  replies(words: RegExp, text: string): Promise<void>;
  told(words: RegExp): Promise<string>;
  /** what GitHub knows of the repository */
  records(): ReturnType<TestGitHub['records']>;
  /** a check of a commit ends like this; null: it runs */
  checks(commit: string, conclusion: string | null, name?: string): void;
  /** requests of this repository, by method and path */
  writes(what: RegExp): string[];
  pushes(): number;
  /** git in the bare repository, and in the workspace */
  server(...args: string[]): string;
  git(...args: string[]): string;
  /** somebody else commits to a branch on the server; `force`: in place of its newest commit */
  elsewhere(branch: string, files: Record<string, string>, message: string, force?: boolean): string;
}

/** `around`: what a test puts around all activities. */
export async function startShipping(
  settings: Record<string, string> = {},
  { around }: { around?: <A extends object>(activities: A) => A } = {},
): Promise<Shipping> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'fetch-shipping-')));
  const workspaces = join(home, 'workspaces');
  mkdirSync(workspaces);
  const github = await startGitHub();
  const bundle = await buildWorkflowBundle(entryOf('unversioned'));
  const releases = await startReleases(
    {
      FETCH_WORKSPACES: workspaces,
      GH_TOKEN: github.token,
      GITHUB_API_URL: github.apiUrl,
      FETCH_SHIP_LOOK_SECONDS: '0.1',
      FETCH_SHIP_PASSES: '3',
      FETCH_READ_SECONDS: '0',
      ...settings,
    },
    {
      ...(around && { around }),
      host: ({ store, config, temporal }) => {
        const kennel = processKennel();
        const lease = { held: () => true };
        const deps = { db: store.db, config, temporal, kennel, host: 'local', lease } as unknown as KennelDeps;
        const place = { workspacesFolder: workspaces, browsers: undefined as never };
        return {
          act: createAct({ ...deps, ...place }),
          preview: createPreview({ ...deps, ...place }),
          ...createShipmentHost(deps),
          conclude: ({ taskId }: { taskId: string }) => concluded(taskId),
        };
      },
    },
  );
  await releases.worker(bundle);
  const { db } = releases.store;

  const run = (at: string, ...args: string[]): string =>
    execFileSync('git', ['-C', at, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
    }).trim();
  function commit(at: string, files: Record<string, string>, message: string): string {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(at, name), text);
    run(at, 'add', '-A');
    run(at, 'commit', '-qm', message);
    return run(at, 'rev-parse', 'HEAD');
  }

  /** As a host with containers ends a task: the changes on its branch, and what the agent said. */
  async function concluded(taskId: string) {
    const task = (await findTask(db, taskId))!;
    const { files = {}, said = '', fails } = shipping.agent(task);
    const at = join(workspaces, task.workspace);
    const branch = `fetch/${task.id}`;
    if (run(at, 'branch', '--list', branch) === '') {
      const tree = mkdtempSync(join(home, 'tree-'));
      run(at, 'worktree', 'add', '-q', '-b', branch, tree, task.from_branch ?? 'HEAD');
      if (Object.keys(files).length > 0) commit(tree, files, 'fix');
      run(at, 'worktree', 'remove', '--force', tree);
    }
    const state = fails ? 'failed' : 'completed';
    const result = { summary: 'done', changes: null, tests: null, said };
    const outboxId = taskOutboxId(taskId, 'result');
    const ended = await endTask(db, taskId, { state, reason: 'done', result, outboxId });
    await tellOfTask(db, task, 'result', 'done', 'result');
    return { state: ended.state, outboxId, filesChanged: 0, waiting: await waitingFor(db, task) };
  }

  let made = 0;
  async function scene(): Promise<Scene> {
    made += 1;
    const demo = `demo-${made}`;
    github.make(demo);
    const at = join(workspaces, demo);
    mkdirSync(at);
    run(at, 'init', '-q', '-b', 'main');
    commit(at, { 'a.txt': 'one\n' }, 'first');
    run(at, 'remote', 'add', 'origin', `${github.apiUrl.replace('/api', '')}/ann/${demo}.git`);
    run(at, 'push', '-q', github.folder(demo), 'main');
    run(at, 'update-ref', 'refs/remotes/origin/main', 'main');
    commit(at, { 'b.txt': 'b\n' }, 'Add b');
    await recordWorkspaces(db, 'local', [{ name: demo, path: at }]);
    const { threadId: thread, chatId: chat } = await newThread(db);
    await selectWorkspace(db, chat, { host: 'local', name: demo });
    let messages = 0;
    const shipment = () => db.selectFrom('shipments').selectAll().where('chat_id', '=', chat).executeTakeFirstOrThrow();
    const branch = async () => (await shipment()).branch;
    const server = (...args: string[]) => run(github.folder(demo), ...args);
    const said = async () =>
      (await db.selectFrom('outbox').select('body').where('chat_id', '=', chat).orderBy('ord').execute()).map(
        ({ body }) => body,
      );
    const asked: Scene['asked'] = (words) =>
      until(`asks ${words}`, async () => {
        const open = await db
          .selectFrom('questions')
          .selectAll()
          .where('chat_id', '=', chat)
          .where('state', '=', 'open')
          .execute();
        return open.find(({ prompt }) => words.test(prompt)) ?? null;
      });
    const records = () => github.records(demo);
    // a name ends where a path, a question mark or the line does: demo-1 is not demo-10
    const ours = new RegExp(`/${demo}(?:\\.git)?(?:[/?]|$)`);
    const writes = (what: RegExp) => github.requests.filter((request) => what.test(request) && ours.test(request));
    return {
      thread,
      chat,
      shipment,
      branch,
      said,
      asked,
      server,
      records,
      writes,
      head: async () => server('rev-parse', await branch()),
      pushes: () => writes(/^POST .*git-receive-pack/).length,
      git: (...args) => run(at, ...args),
      async says(words) {
        messages += 1;
        await releases.intake.startTurn({
          threadId: thread,
          prompt: words,
          channelMessageId: { id: `${thread}-${messages}`, fingerprint: null },
        });
      },
      async answer(words, decision) {
        const { id, evidence } = await asked(words);
        await releases.intake.decide({
          approvalId: id,
          decision,
          remember: false,
          seen: evidence?.length,
          channelMessageId: { id: `${id}-answer`, fingerprint: null },
        });
      },
      async replies(words, text) {
        const { id } = await asked(words);
        const answers = [{ id: 'answer', label: '', value: text }];
        const channelMessageId = { id: `${id}-answer`, fingerprint: null };
        await releases.intake.answer({ threadId: thread, inputId: id, answers, channelMessageId });
      },
      told: (words) => until(`tells ${words}`, async () => (await said()).find((body) => words.test(body)) ?? null),
      checks(head, conclusion, name = 'test') {
        const status = conclusion === null ? 'in_progress' : 'completed';
        records().checkRuns[head] = [{ id: 7, name, head_sha: head, status, conclusion }];
      },
      elsewhere(name, files, message, force = false) {
        const clone = mkdtempSync(join(home, 'clone-'));
        run(home, 'clone', '-q', '-b', name, github.folder(demo), clone);
        if (force) run(clone, 'reset', '-q', '--hard', 'HEAD^');
        const head = commit(clone, files, message);
        run(clone, 'push', '-q', ...(force ? ['--force'] : []), 'origin', name);
        return head;
      },
    };
  }

  const shipping: Shipping = {
    releases,
    github,
    agent: () => ({}),
    scene,
    async shipped(words = 'ship') {
      const s = await scene();
      await s.says(words);
      // the rule that it is merged by itself always asks
      if (words.includes('green')) await s.answer(/^Make a pull request.*merge it when all is green/, 'allow');
      await s.told(/^The pull request #\d+ .* is open/);
      return s;
    },
    async restart() {
      await releases.stopWorkers();
      await releases.worker(bundle);
    },
    async close() {
      await releases.close();
      await github.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
  return shipping;
}

/** Who has written a remark. */
export const by = (login: string, association = 'MEMBER') => ({
  user: { login, type: 'User' },
  author_association: association,
});
