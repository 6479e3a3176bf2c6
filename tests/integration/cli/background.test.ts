import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { liveRunState, readRunState } from '../../../src/cli/instance/home/state-file.ts';
import { removeCluster } from '../../../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../../../src/config.ts';
import { FETCH_SETTING, freePorts } from '../../support/app.ts';
import { openPty, type Pty } from '../../support/pty.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'fetch-test-'));
let env: Record<string, string>;
const open: Pty[] = [];

const terminal = (args: string, more: Record<string, string> = {}, after?: string): Pty => {
  const pty = openPty(args, { ...env, ...more }, after);
  open.push(pty);
  return pty;
};
const command = (...args: string[]): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [ENTRY, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, text: stdout + stderr }),
    );
  });
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const pids = (): number[] => {
  const { supervisor, roles } = readRunState(home)!;
  return [supervisor.pid, ...roles.filter(({ name }) => name !== 'kennel').map(({ pid }) => pid!)];
};
const nothingRuns = (before: number[]) =>
  until('every process has ended', () => before.length === 6 && before.every((pid) => !alive(pid)));

/** A message over HTTP, and the answer of the practice model. */
async function answer(text: string): Promise<string> {
  const { urls } = (await liveRunState(home))!;
  const authorization = `Bearer ${readFileSync(join(home, 'runtime-token'), 'utf8').trim()}`;
  const ask = async (path: string, body?: unknown) => {
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return (await (
      await fetch(`${urls.runtime}${path}`, { ...post, headers: { authorization, 'content-type': 'application/json' } })
    ).json()) as never;
  };
  const { id }: { id: string } = await ask('/v1/threads', {});
  await ask(`/v1/threads/${id}/messages`, { text });
  const items = await until('the message is answered', async () => {
    const detail: {
      turns: Array<{ status: string }>;
      items: Array<{ kind: string; detail?: string; summary?: string }>;
    } = await ask(`/v1/threads/${id}`);
    return detail.turns[0]?.status === 'completed' && detail.items;
  });
  return JSON.stringify(items.filter(({ kind }) => kind === 'agent_message'));
}

beforeAll(async () => {
  const [runtime, status, temporal, ui, postgres] = await freePorts(5);
  // answered questions: a first start would ask them
  writeFileSync(join(home, '.env'), 'FETCH_TIME_ZONE=UTC\n', { mode: 0o600 });
  const clean = Object.fromEntries(
    Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
  );
  env = {
    ...clean,
    FETCH_HOME: home,
    FETCH_RUNTIME_PORT: String(runtime),
    FETCH_STATUS_PORT: String(status),
    FETCH_TEMPORAL_PORT: String(temporal),
    FETCH_TEMPORAL_UI_PORT: String(ui),
    FETCH_POSTGRES_PORT: String(postgres),
    FETCH_STOP_SECONDS: '5',
  };
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((pty) => pty.close()));
});
afterAll(async () => {
  await command('stop', '--now');
  removeCluster(home);
  rmSync(home, { recursive: true, force: true });
});

// other systems have a `script` with other options
describe.skipIf(process.platform !== 'linux')('an instance in the background', () => {
  it('is brought up by `fetch up`, and answers when that terminal is closed', async () => {
    const pty = terminal('up', {}, 'echo ended with $?; cat');
    await pty.sees(/Fetch runs \(process \d+\) in the background/);
    await pty.sees('ended with 0');
    expect(pty.shown()).toContain(`Log: ${join(home, 'logs', 'fetch.log')}`);
    const before = pids();
    await pty.close();
    expect(await answer('hello')).toContain('practice');
    expect(pids()).toEqual(before);
  });

  it('is named by a second `fetch up`, and by `fetch status`', async () => {
    expect(await command('up')).toMatchObject({
      code: 0,
      text: expect.stringMatching(/runs already \(process \d+\) in the background/),
    });
    const { runs } = JSON.parse((await command('status', '--json')).text);
    expect(runs).toEqual({
      by: 'background',
      pid: readRunState(home)!.supervisor.pid,
      log: join(home, 'logs', 'fetch.log'),
      service: null,
      bound: null,
    });
  });

  it('is joined by a start on a terminal, and goes on when that one leaves', async () => {
    const before = pids();
    const pty = terminal('start');
    await pty.sees('A chat with what runs already');
    pty.type('help');
    await pty.sees('help all');
    pty.type('/quit');
    expect(await pty.ended()).toBe(0);
    expect(pty.shown()).toContain(`Fetch runs on in the background (process ${before[0]})`);
    expect(pty.shown()).not.toContain('Keep Fetch running');
    expect(pids()).toEqual(before);
    expect((await command('stop')).code).toBe(0);
    await nothingRuns(before);
  });

  it('is asked about once, when that chat is left, and stops if it is to', async () => {
    const leaving = async (): Promise<Pty> => {
      const pty = terminal('start');
      await pty.sees('Ready.');
      pty.type('help');
      await pty.sees('help all');
      pty.type('/quit');
      return pty;
    };
    const first = await leaving();
    await first.sees('Keep Fetch running in the background');
    let before = pids();
    expect(before.every(alive)).toBe(true);
    first.press('n');
    expect(await first.ended()).toBe(0);
    await nothingRuns(before);
    expect(readFileSync(join(home, '.env'), 'utf8')).toBe('FETCH_TIME_ZONE=UTC\nFETCH_ON_LEAVE=stop\n');
    const second = await leaving();
    before = pids();
    expect(await second.ended()).toBe(0);
    expect(second.shown()).not.toContain('Keep Fetch running');
    await nothingRuns(before);
  });

  it('is not left behind by Ctrl-C while it starts', async () => {
    const pty = terminal('up');
    await pty.sees('Starting ');
    const before = await until('its servers run', () => {
      const state = readRunState(home);
      return state && state.roles.length > 0 && [state.supervisor.pid, ...state.roles.flatMap(({ pid }) => pid ?? [])];
    });
    pty.press('\x03');
    expect(await pty.ended()).toBe(1);
    expect(pty.shown()).toContain('Stopped while starting.');
    await until('every process has ended', () => before.every((pid) => !alive(pid)));
    expect(await liveRunState(home)).toBeNull();
  });
});

describe.skipIf(process.platform !== 'linux')('a first start whose port is taken', () => {
  let server: Server;
  afterAll(() => server?.close());

  it('says so before it asks anything', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'fetch-test-'));
    server = createServer();
    await new Promise<void>((resolve) => server.listen(Number(env.FETCH_RUNTIME_PORT), '127.0.0.1', resolve));
    const pty = terminal('start', { FETCH_HOME: fresh });
    expect(await pty.ended()).toBe(1);
    expect(pty.shown()).toContain(
      `Port ${env.FETCH_RUNTIME_PORT}, wanted for the runtime API, is taken by process ${process.pid}`,
    );
    expect(pty.shown()).not.toContain('a model, your name, your time zone');
    rmSync(fresh, { recursive: true });
  });
});

describe.skipIf(process.platform !== 'linux')('the questions of the set-up', () => {
  it('are left by Ctrl-D, as by Ctrl-C, and the defaults hold', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'fetch-test-'));
    const pty = terminal('setup', { FETCH_HOME: fresh });
    await pty.sees('a model, your name, your time zone');
    await pty.sees('└');
    pty.press('\x04');
    await pty.sees('The defaults are used.');
    expect(await pty.ended()).toBe(0);
    expect(pty.shown()).not.toContain('Warning');
    rmSync(fresh, { recursive: true });
  });
});
