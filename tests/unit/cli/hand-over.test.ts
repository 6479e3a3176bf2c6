import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { packSession, readSession, type SessionBundle } from '../../../src/adapters/sessions/bundle.ts';
import { findSession } from '../../../src/adapters/sessions/places.ts';
import { apply } from '../../../src/cli/home/hand-over/apply.ts';
import { handOver } from '../../../src/cli/home/hand-over/hand-over.ts';
import { movedSession } from '../../../src/domain/tasks/session-text.ts';
import { CLAUDE_ID, CODEX_ID, claudeSession, codexSession, keptByAgent } from '../../support/session-files.ts';

const top = realpathSync(mkdtempSync(join(tmpdir(), 'fetch-hand-over-')));
afterAll(() => rmSync(top, { recursive: true, force: true }));

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();

let [shop, home, count] = ['', '', 0];
const out = (): string => join(top, `${count}.session.gz`);
const read = (): Promise<SessionBundle> => readSession(readFileSync(out()));
/** Hands over, and reads the file. */
async function handed(options: Parameters<typeof handOver>[1] = {}): Promise<{ said: string; bundle: SessionBundle }> {
  const said = await handOver(shop, { out: out(), home, ...options });
  return { said, bundle: await read() };
}

beforeEach(() => {
  count += 1;
  [shop, home] = [join(top, `${count}/shop`), join(top, `${count}/home`)];
  const server = join(top, `${count}/server.git`);
  mkdirSync(join(shop, 'src'), { recursive: true });
  git(top, 'init', '-q', '--bare', '-b', 'main', server);
  git(shop, 'init', '-q', '-b', 'main');
  writeFileSync(join(shop, 'src/app.js'), 'one\n');
  writeFileSync(join(shop, '.gitignore'), 'ignored\n');
  git(shop, 'add', '-A');
  git(shop, 'commit', '-qm', 'first');
  git(shop, 'remote', 'add', 'origin', server);
  git(shop, 'push', '-q', '-u', 'origin', 'main');
  keptByAgent(home, 'claude', shop, claudeSession(shop));
});

describe('a session that is handed over', () => {
  it('has commits that no remote has, and what is not committed, and changes nothing here', async () => {
    writeFileSync(join(shop, 'second.js'), '2\n');
    git(shop, 'add', '-A');
    git(shop, 'commit', '-qm', 'second');
    writeFileSync(join(shop, 'src/app.js'), 'two\n');
    writeFileSync(join(shop, 'new.js'), 'new\n');
    writeFileSync(join(shop, 'ignored'), 'x');
    const before = git(shop, 'status', '--porcelain=v2', '--branch');
    const refs = git(shop, 'for-each-ref');
    const { bundle, said } = await handed();
    expect(bundle).toMatchObject({
      agent: 'claude',
      sessionId: CLAUDE_ID,
      project: 'shop',
      root: shop,
      branch: 'main',
      unfinished: true,
      needs: [git(shop, 'rev-parse', 'origin/main')],
      remote: join(top, `${count}/server.git`),
    });
    expect(said).toContain('What is not committed goes with it.');
    expect(git(shop, 'ls-tree', '-r', '--name-only', bundle.tip).split('\n')).toEqual([
      '.gitignore',
      'new.js',
      'second.js',
      'src/app.js',
    ]);
    expect(git(shop, 'status', '--porcelain=v2', '--branch')).toBe(before);
    expect(git(shop, 'for-each-ref')).toBe(refs);
  });

  it('has no work where the remote has everything', async () => {
    const { bundle } = await handed();
    expect(bundle).toMatchObject({ work: null, unfinished: false, needs: [git(shop, 'rev-parse', 'HEAD')] });
  });

  it('is the one that was written last, or the one that is named', async () => {
    const path = keptByAgent(home, 'codex', shop, codexSession(shop));
    utimesSync(path, new Date(), new Date(Date.now() + 10_000));
    expect((await handed()).bundle.agent).toBe('codex');
    expect((await handed({ session: CLAUDE_ID })).bundle.agent).toBe('claude');
    await expect(handed({ session: '../../x' })).rejects.toThrow('There is no session');
    rmSync(home, { recursive: true });
    keptByAgent(home, 'codex', top, codexSession(join(top, 'gone')));
    await expect(handed({ session: CODEX_ID })).rejects.toThrow('/gone, which is not in');
  });

  it('is none of another folder', async () => {
    rmSync(home, { recursive: true });
    await expect(handed()).rejects.toThrow('No session of Claude Code or Codex began in');
    keptByAgent(home, 'codex', `${shop}2`, codexSession(`${shop}2`));
    await expect(handed()).rejects.toThrow('No session of Claude Code or Codex began in');
  });

  it('leaves keys behind, and is refused with one that git has', async () => {
    const key = `ghp_${'a1B2'.repeat(9)}`;
    writeFileSync(join(shop, '.env'), 'A=1\n');
    writeFileSync(join(shop, '.env.example'), 'A=\n');
    writeFileSync(join(shop, 'notes.md'), `x\n${key}\n`);
    keptByAgent(home, 'claude', shop, claudeSession(shop, key));
    const { bundle, said } = await handed();
    expect(said).toContain('stay here: .env, notes.md.');
    expect(said).toContain('1 places in the session looked like keys');
    expect(bundle.session).not.toContain(key);
    expect(git(shop, 'ls-tree', '--name-only', bundle.tip)).toBe('.env.example\n.gitignore\nsrc');
    git(shop, 'add', 'notes.md');
    git(shop, 'commit', '-qm', 'with a key');
    await expect(handed()).rejects.toThrow('notes.md:2: a GitHub token');
  });
});

describe('a session that comes back', () => {
  /** The bundle after some work elsewhere. */
  async function worked(bundle: SessionBundle): Promise<string> {
    const other = join(top, `${count}/other`);
    git(top, 'clone', '-q', join(top, `${count}/server.git`), other);
    const file = join(top, `${count}/work`);
    if (bundle.work) {
      writeFileSync(file, Buffer.from(bundle.work, 'base64'));
      git(other, 'fetch', '-q', file, 'refs/fetch/hand-over');
    }
    git(other, 'checkout', '-q', '-b', 'fetch/tsk_1', bundle.tip);
    writeFileSync(join(other, 'done.js'), 'done\n');
    git(other, 'add', '-A');
    git(other, 'commit', '-qm', 'done');
    git(other, 'update-ref', 'refs/fetch/hand-over', 'HEAD');
    git(other, 'bundle', 'create', '-q', file, 'refs/fetch/hand-over', '--not', '--remotes');
    const root = '/workspace/.git/fetch-worktrees/tsk_1';
    const session = movedSession(`${bundle.session}`, { from: bundle.root, to: root }).text.concat(
      '{"type":"custom"}\n',
    );
    const packed = await packSession({
      ...bundle,
      root,
      branch: 'fetch/tsk_1',
      tip: git(other, 'rev-parse', 'HEAD'),
      unfinished: false,
      needs: [git(shop, 'rev-parse', 'origin/main')],
      session,
      work: readFileSync(file).toString('base64'),
    });
    const given = join(top, `${count}.given.gz`);
    writeFileSync(given, packed);
    return given;
  }

  it.each(['claude', 'codex'] as const)('of %s goes on where it began, with all turns and the work', async (agent) => {
    if (agent === 'codex') {
      rmSync(home, { recursive: true });
      keptByAgent(home, 'codex', shop, codexSession(shop));
    }
    writeFileSync(join(shop, 'src/app.js'), 'two\n');
    writeFileSync(join(shop, 'new.js'), 'new\n');
    const { bundle } = await handed();
    const said = await apply(await worked(bundle), shop, home);
    const [id, command] = agent === 'claude' ? [CLAUDE_ID, 'claude --resume'] : [CODEX_ID, 'codex resume'];
    expect(said).toContain(`cd ${shop} && ${command} ${id}`);
    expect(git(shop, 'status', '--porcelain', '--branch')).toBe('## fetch/tsk_1');
    expect(readFileSync(join(shop, 'src/app.js'), 'utf8')).toBe('two\n');
    expect(readFileSync(join(shop, 'done.js'), 'utf8')).toBe('done\n');
    const session = readFileSync((await findSession(home, agent, id))!, 'utf8');
    expect(session).toBe(`${bundle.session}{"type":"custom"}\n`);
  });

  it('overwrites nothing that was written here meanwhile', async () => {
    writeFileSync(join(shop, 'new.js'), 'new\n');
    const { bundle } = await handed();
    const given = await worked(bundle);
    writeFileSync(join(shop, 'new.js'), 'newer\n');
    await expect(apply(given, shop, home)).rejects.toThrow('has changes that are not committed');
    expect(readFileSync(join(shop, 'new.js'), 'utf8')).toBe('newer\n');
    git(shop, 'add', '-A');
    git(shop, 'commit', '-qm', 'mine');
    git(shop, 'branch', 'fetch/tsk_1');
    await apply(given, shop, home);
    expect(git(shop, 'branch', '--show-current')).toBe('fetch/tsk_1-2');
    expect(git(shop, 'show', 'main:new.js')).toBe('newer');
  });

  it('goes into no other repository', async () => {
    const { bundle } = await handed();
    const given = await worked(bundle);
    const other = join(top, `${count}/elsewhere`);
    git(top, 'init', '-q', other);
    git(other, 'commit', '-q', '--allow-empty', '-m', 'x');
    await expect(apply(given, other, home)).rejects.toThrow(
      'does not have the commits that this session of shop began',
    );
    await expect(apply(given, top, home)).rejects.toThrow('is in no git repository');
    await expect(apply(join(top, 'nothing'), shop, home)).rejects.toThrow('cannot be read');
  });
});
