import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../support/app.ts';
import { IS_ROOT, type OtherUser, otherUser } from '../../support/other-user.ts';

const PORTS = ['RUNTIME', 'STATUS', 'TEMPORAL', 'TEMPORAL_UI', 'POSTGRES'];
/** a user id without an entry among the users */
const NAMELESS = 12_345;

describe.skipIf(!IS_ROOT)('a home that cannot be used', () => {
  let user: OtherUser;
  let folder: string;
  let ports: Record<string, string>;
  beforeAll(async () => {
    user = await otherUser();
    folder = mkdtempSync(join(tmpdir(), 'fetch-home-'));
    const free = await freePorts(PORTS.length);
    ports = Object.fromEntries(PORTS.map((name, index) => [`FETCH_${name}_PORT`, String(free[index])]));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
    user?.close();
  });

  /** Runs a command as the other user to its end; it must not leave anything running. */
  const fetchCommand = (home: string, command: string, uid = user.place.uid): Promise<{ code: number; text: string }> =>
    new Promise((resolve) => {
      const { node, entry, gid, cwd } = user.place;
      execFile(
        node,
        [entry, command, '--home', home],
        { env: { ...user.env, ...ports }, uid, gid, cwd, timeout: 60_000 },
        (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, text: stdout + stderr }),
      );
    });
  const asRoot = (home: string, command: string) => fetchCommand(home, command, 0);

  const refused = async (home: string, why: RegExp): Promise<void> => {
    const { code, text } = await fetchCommand(home, 'start');
    expect(text).toMatch(why);
    expect(text).toContain(home);
    expect(text).toMatch(/--home/);
    expect(text).not.toMatch(/\n\s+at /);
    expect(code).toBe(1);
    // what only looks says the same or nothing, and never falls over
    for (const looking of ['status', 'stop', 'logs', 'doctor', 'chat'])
      expect((await fetchCommand(home, looking)).text).not.toMatch(/\n\s+at /);
    expect((await fetchCommand(home, 'doctor')).code).toBe(1);
  };

  it('is a file', async () => {
    writeFileSync(join(user.folder, 'file'), '');
    await refused(join(user.folder, 'file'), /is not a folder|belongs to another user/);
    await refused(join(user.folder, 'file', 'below'), /is not a folder/);
  });

  it('belongs to another user', async () => {
    mkdirSync(join(folder, 'closed'), { mode: 0o700 });
    await refused(join(folder, 'closed'), /cannot be (written|read) by this user/);
  });

  it('is open to everybody and still belongs to another user', async () => {
    const open = join(tmpdir(), `fetch-open-${process.pid}`);
    mkdirSync(open, { mode: 0o777 });
    try {
      await refused(open, /belongs to another user \(id 0, you are \d+\)/);
    } finally {
      rmSync(open, { recursive: true });
    }
  });

  it('cannot be made', async () => {
    await refused('/proc/fetch', /cannot be made there|cannot be written/);
    await refused('/fetch-home-of-nobody', /cannot be written by this user/);
  });

  it('lies on a read-only file system, also for root', async () => {
    const disk = user.disk('read-only', 400);
    disk.readOnly();
    await refused(join(disk.path, 'state'), /is on a read-only file system/);
    expect(await asRoot(join(disk.path, 'state'), 'start')).toMatchObject({
      code: 1,
      text: expect.stringContaining('read-only file system'),
    });
  });

  it('lies on a disk without room', async () => {
    await refused(user.disk('small', 20).path, /is on a disk with \d+ MB left; 300 MB are needed/);
  });

  it('holds the state of another user, whom root would lock out', async () => {
    const home = user.disk('of-the-user', 400).path;
    writeFileSync(join(home, 'chat-key'), 'key\n');
    chownSync(join(home, 'chat-key'), user.place.uid, user.place.gid);
    expect(await asRoot(home, 'start')).toMatchObject({
      code: 1,
      text: expect.stringMatching(/belongs to another user \(id \d+, you are 0\)/),
    });
  });

  it('is fine, but the user has no name, which PostgreSQL insists on', async () => {
    const home = mkdtempSync(join(tmpdir(), 'fetch-nameless-'));
    chownSync(home, NAMELESS, NAMELESS);
    try {
      const { code, text } = await fetchCommand(home, 'start', NAMELESS);
      expect(text).toMatch(
        /PostgreSQL runs only as a user with a name, and user id 12345 has none.*useradd --uid 12345 fetch/,
      );
      expect(code).toBe(1);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
