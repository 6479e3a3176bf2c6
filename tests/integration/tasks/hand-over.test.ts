import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import { runFolder } from '../../../src/adapters/kennel/run-folders.ts';
import { packSession, readSession, type SessionBundle } from '../../../src/adapters/sessions/bundle.ts';
import { findSession, keptSession } from '../../../src/adapters/sessions/places.ts';
import { apply } from '../../../src/cli/home/hand-over/apply.ts';
import { handOver } from '../../../src/cli/home/hand-over/hand-over.ts';
import { loadConfig } from '../../../src/config.ts';
import { factsOfSession } from '../../../src/domain/tasks/session-text.ts';
import { saveAttachment } from '../../../src/store/chats/messages/attachments.ts';
import { reportHost } from '../../../src/store/kennel/hosts.ts';
import { endTask, findTask } from '../../../src/store/kennel/tasks/tasks.ts';
import { taskTools } from '../../../src/tools/tasks/tasks.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { CLAUDE_ID, CODEX_ID, claudeSession, codexSession, keptByAgent } from '../../support/session-files.ts';
import { type ToolBench, toolBench } from '../../support/tool-bench.ts';

/** A session goes from the computer of a person to a task, and back, with its work. */

const top = realpathSync(mkdtempSync(join(tmpdir(), 'fetch-sessions-')));
const config = loadConfig({ FETCH_HOME: join(top, 'fetch'), FETCH_KENNEL_AGENTS: 'claude,codex' }, {});
const kennel = openKennel(config);
const engine = await kennel.ready().then(
  () => true,
  () => false,
);

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'safe.directory=*', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();

describe.skipIf(!engine)('a session', () => {
  let database: TestDatabase;
  const workspaces = join(top, 'fetch/workspaces');
  const [laptop, home, server] = [join(top, 'laptop/shop'), join(top, 'laptop/home'), join(top, 'server.git')];
  const copy = join(workspaces, 'the-shop');

  beforeAll(async () => {
    database = await startTestDatabase();
    mkdirSync(join(laptop, 'src'), { recursive: true });
    git(top, 'init', '-q', '--bare', '-b', 'main', server);
    git(laptop, 'init', '-q', '-b', 'main');
    writeFileSync(join(laptop, 'src/app.js'), 'one\n');
    git(laptop, 'add', '-A');
    git(laptop, 'commit', '-qm', 'first');
    git(laptop, 'remote', 'add', 'origin', server);
    git(laptop, 'push', '-q', '-u', 'origin', 'main');
    mkdirSync(workspaces, { recursive: true });
    git(top, 'clone', '-q', server, copy);
    await kennel.provide('tools', () => {});
    await reportHost(database.store.db, {
      host: 'local',
      slots: 2,
      ready: true,
      problem: null,
      harnesses: (['claude', 'codex'] as const).map((name) => ({ name, ready: true, why: null })),
    });
  }, 600_000);
  afterAll(async () => {
    await database?.close();
    rmSync(top, { recursive: true, force: true });
  }, 60_000);

  let files = 0;
  /** A chat to which a file has come. */
  async function chatWith(data?: Buffer): Promise<ToolBench> {
    const { db } = database.store;
    const bench = await toolBench({
      db,
      config,
      kennel,
      host: 'local',
      workspacesFolder: workspaces,
      tools: taskTools,
    });
    if (data) {
      const file = { kind: 'document', mime: 'application/gzip', name: 'x.gz', preview: null, text: null } as const;
      await saveAttachment(db, { id: `att_hand${++files}`, threadId: bench.threadId, data, ...file });
    }
    return bench;
  }
  const bytesOf = async (id: string): Promise<Buffer> =>
    (await database.store.db.selectFrom('attachments').select('data').where('id', '=', id).executeTakeFirstOrThrow())
      .data;
  async function handed(): Promise<Buffer> {
    const out = join(top, 'laptop/shop.session.gz');
    await handOver(laptop, { out, home });
    return readFileSync(out);
  }
  const changed = async (data: Buffer, change: Partial<SessionBundle>): Promise<Buffer> =>
    packSession({ ...(await readSession(data)), ...change });

  it.each(['claude', 'codex'] as const)(
    'of %s is taken with its work, and comes back with that of the task',
    async (agent) => {
      const { db } = database.store;
      const [id, session] = agent === 'claude' ? [CLAUDE_ID, claudeSession] : [CODEX_ID, codexSession];
      rmSync(home, { recursive: true, force: true });
      keptByAgent(home, agent, laptop, session(laptop));
      writeFileSync(join(laptop, 'src/app.js'), `two of ${agent}\n`);
      writeFileSync(join(laptop, `${agent}.js`), 'new\n');
      const bench = await chatWith(await handed());
      const callId = `call_take_${agent}`;
      const taken = await bench.call('session_take', { goal: 'go on' }, { callId });
      expect(taken, taken.output).toMatchObject({ ok: true, output: expect.stringContaining('in the-shop (tsk_') });
      expect((await bench.call('session_take', {}, { callId })).metadata).toEqual(taken.metadata);
      const { taskId } = taken.metadata as { taskId: string };
      const task = (await findTask(db, taskId))!;
      expect(task).toMatchObject({ harness: agent, worktree: true, session_id: id, state: 'queued', goal: 'go on' });
      // its files are on a branch, and those of the workspace are as before
      expect(git(copy, 'show', `fetch/${taskId}:src/app.js`)).toBe(`two of ${agent}`);
      expect(git(copy, 'status', '--porcelain', '--branch')).toBe('## main...origin/main');
      const root = `/workspace/.git/fetch-worktrees/${taskId}`;
      const placed = readFileSync((await findSession(join(runFolder(config, taskId), 'home'), agent, id))!, 'utf8');
      expect(factsOfSession(agent, placed)).toMatchObject({ folder: root, title: 'Make the app two' });

      // the task works, commits and ends
      expect((await bench.call('session_give', {})).output).toBe(
        'It is still at work. Say `stop 1` first, then `give 1`.',
      );
      const branch = `fetch/${taskId}`;
      const tree = join(top, `work-${agent}`);
      git(copy, 'worktree', 'add', '-q', tree, branch);
      writeFileSync(join(tree, 'done.js'), 'done\n');
      git(tree, 'add', '-A');
      git(tree, 'commit', '-qm', 'done');
      const changes = { commit: git(tree, 'rev-parse', 'HEAD'), branch, files: [], added: 1, removed: 0, test: null };
      const words = { summary: 'done', changes, tests: null, said: '' };
      await endTask(db, taskId, {
        state: 'completed',
        reason: 'done',
        result: words,
        outboxId: `out_${taskId}_result`,
      });
      const more = { type: 'user', sessionId: id, cwd: root, message: { role: 'user', content: `in ${root}/a` } };
      writeFileSync(keptSession(runFolder(config, taskId)), `${placed}${JSON.stringify(more)}\n`);
      const given = await bench.call('session_give', { task: '1' });
      expect(given, given.output).toMatchObject({
        ok: true,
        output: expect.stringContaining('fetch hand-over --apply'),
      });

      const file = join(top, 'given.gz');
      writeFileSync(file, await bytesOf((given.metadata as { attachment: string }).attachment));
      expect(await apply(file, laptop, home)).toContain(id);
      expect(git(laptop, 'status', '--porcelain', '--branch')).toBe(`## ${branch}`);
      expect(readFileSync(join(laptop, 'src/app.js'), 'utf8')).toBe(`two of ${agent}\n`);
      expect(readFileSync(join(laptop, 'done.js'), 'utf8')).toBe('done\n');
      const back = readFileSync((await findSession(home, agent, id))!, 'utf8');
      expect(factsOfSession(agent, back)?.folder).toBe(laptop);
      expect(back).toContain(`in ${laptop}/a`);
      // a file that was sent from here is none to take
      expect((await (await chatWith()).call('session_take', {})).output).toMatch(/^No session has come/);
      git(laptop, 'checkout', '-q', 'main');
    },
    240_000,
  );

  it('of a repository without a remote becomes a project of its own', async () => {
    const alone = join(top, 'laptop/alone');
    mkdirSync(alone);
    git(alone, 'init', '-q', '-b', 'trunk');
    writeFileSync(join(alone, 'a.txt'), 'a\n');
    git(alone, 'add', '-A');
    git(alone, 'commit', '-qm', 'first');
    writeFileSync(join(alone, 'b.txt'), 'b\n');
    keptByAgent(home, 'claude', alone, claudeSession(alone));
    const out = join(top, 'alone.gz');
    await handOver(alone, { out, home });
    const bench = await chatWith(readFileSync(out));
    const taken = await bench.call('session_take', {});
    expect(taken, taken.output).toMatchObject({ ok: true, output: expect.stringContaining('in alone (tsk_') });
    const path = join(workspaces, 'alone');
    expect(git(path, 'status', '--porcelain', '--branch')).toBe('## trunk');
    expect(git(path, 'log', '--format=%s')).toBe('first');
    const { taskId } = taken.metadata as { taskId: string };
    expect(git(path, 'ls-tree', '--name-only', `fetch/${taskId}`)).toBe('a.txt\nb.txt');
  }, 240_000);

  it('is refused by name when it is of another project, or is not what it says', async () => {
    rmSync(home, { recursive: true, force: true });
    keptByAgent(home, 'claude', laptop, claudeSession(laptop));
    writeFileSync(join(laptop, 'src/app.js'), 'three\n');
    const good = await handed();
    const refs = git(copy, 'for-each-ref');
    const refused = async (data: Buffer, args: object = {}): Promise<string> => {
      const { ok, output } = await (await chatWith(data)).call('session_take', args);
      expect(ok).toBe(false);
      return output;
    };
    expect(await refused(await changed(good, { needs: ['a'.repeat(40)] }))).toMatch(
      /^No project here has the commits that this session of shop began on\. Say `clone .*server\.git`/,
    );
    mkdirSync(join(workspaces, 'other'));
    git(join(workspaces, 'other'), 'init', '-q');
    git(join(workspaces, 'other'), 'commit', '-q', '--allow-empty', '-m', 'x');
    expect(await refused(good, { workspace: 'other' })).toMatch(/^other is another project, or older/);
    expect(await refused(await changed(good, { tip: 'a'.repeat(40) }))).toMatch(/its work is another one than it says/);
    expect(await refused(await changed(good, { work: Buffer.from('no bundle').toString('base64') }))).toMatch(
      /could not be brought in/,
    );
    expect(await refused(Buffer.from('1f8b0800', 'hex'))).toMatch(/is damaged/);
    // a key that an honest hand-over would have refused
    const evil = join(top, 'evil');
    git(top, 'clone', '-q', server, evil);
    writeFileSync(join(evil, 'k.txt'), `ghp_${'a1B2'.repeat(9)}\n`);
    git(evil, 'add', '-A');
    git(evil, 'commit', '-qm', 'k');
    git(evil, 'update-ref', 'refs/fetch/hand-over', 'HEAD');
    git(evil, 'bundle', 'create', '-q', join(top, 'evil.bundle'), 'refs/fetch/hand-over', '--not', '--remotes');
    const work = readFileSync(join(top, 'evil.bundle')).toString('base64');
    expect(await refused(await changed(good, { tip: git(evil, 'rev-parse', 'HEAD'), work }))).toMatch(
      /looks like a secret, so the session was not taken: k\.txt:1: a GitHub token/,
    );
    expect(git(copy, 'for-each-ref')).toBe(refs);
    expect(await database.store.db.selectFrom('tasks').select('id').where('goal', 'like', '%three%').execute()).toEqual(
      [],
    );
  }, 240_000);
});
