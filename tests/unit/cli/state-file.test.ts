import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive, startTimeOf } from '../../../src/cli/instance/home/process-identity.ts';
import {
  endLeftovers,
  liveRunState,
  type RunState,
  readRunState,
  writeRunState,
} from '../../../src/cli/instance/home/state-file.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-state-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const stateWith = (supervisor: RunState['supervisor'], worker: { pid: number; startTime: string }): RunState => ({
  version: 1,
  supervisor,
  roles: [
    {
      name: 'worker',
      ...worker,
      state: 'ready',
      since: '2026-01-01T00:00:00.000Z',
      restarts: 0,
      address: null,
      lastError: null,
    },
  ],
  urls: { runtime: 'http://127.0.0.1:1', status: 'http://127.0.0.1:2', temporalUi: null },
});
const sleeper = async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const startTime = (await startTimeOf(child.pid!))!;
  return { child, identity: { pid: child.pid!, startTime } };
};

test('a written state is read back the same and is private to its user', async () => {
  const state = stateWith(
    { pid: process.pid, startTime: (await startTimeOf(process.pid))! },
    { pid: 1, startTime: 'x' },
  );
  writeRunState(home, state);
  expect(readRunState(home)).toEqual(state);
  expect(statSync(join(home, 'run.json')).mode & 0o777).toBe(0o600);
  expect(await liveRunState(home)).toEqual(state);
});

test('a supervisor whose pid was given to another process counts as dead', async () => {
  writeRunState(home, stateWith({ pid: process.pid, startTime: 'of another process' }, { pid: 1, startTime: 'x' }));
  expect(await liveRunState(home)).toBeNull();
});

test('a torn or foreign state file does not block a start', async () => {
  for (const content of ['', '{"version":1,', '[]', 'null', '{"version":2}']) {
    writeFileSync(join(home, 'run.json'), content);
    expect(readRunState(home)).toBeNull();
    expect(await endLeftovers(home)).toEqual([]);
  }
});

test('a child left by a killed supervisor is ended', async () => {
  const { identity } = await sleeper();
  writeRunState(home, stateWith({ pid: identity.pid, startTime: 'dead' }, identity));
  expect(await endLeftovers(home)).toEqual(['worker']);
  expect(await isAlive(identity)).toBe(false);
});

test('a stranger that got the pid of a recorded child is left alone', async () => {
  const { child, identity } = await sleeper();
  writeRunState(
    home,
    stateWith({ pid: identity.pid, startTime: 'dead' }, { pid: identity.pid, startTime: 'of another process' }),
  );
  expect(await endLeftovers(home)).toEqual([]);
  expect(await isAlive(identity)).toBe(true);
  child.kill('SIGKILL');
});

test('a pid that nothing runs under has no start time', async () => {
  expect(await startTimeOf(2 ** 30)).toBeNull();
});
