import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimHome, HeldError, homeHolder } from '../../../src/cli/instance/home/start-lock.ts';
import { until } from '../../support/until.ts';

let home: string;
let children: ChildProcess[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-lock-'));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

/**
 * A process that claims the home at a given moment and then lives on; what it said: `claimed`, or the pid of the
 * holder.
 */
function claimant(at: number): { child: ChildProcess; said: () => string } {
  const module = new URL('../../../src/cli/instance/home/start-lock.ts', import.meta.url).href;
  const program = `const { claimHome } = await import(${JSON.stringify(module)});
    while (Date.now() < ${at});
    console.log(await claimHome(${JSON.stringify(home)}).then(() => 'claimed', (error) => String(error.holder?.pid ?? error)));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  children.push(child);
  return { child, said: () => said.trim() };
}
const stale = (number: number, content: string) => {
  mkdirSync(join(home, 'start.lock'), { recursive: true });
  writeFileSync(join(home, 'start.lock', String(number)), content);
};

test('of processes that claim a home in the same instant exactly one wins, and the others learn its pid', async () => {
  // over a claim of a dead process: taking that over is where two could both believe to have won
  stale(1, JSON.stringify({ pid: process.pid, startTime: 'of another process' }));
  const at = Date.now() + 1_000;
  const all = Array.from({ length: 6 }, () => claimant(at));
  await until('all have said what they found', () => all.every(({ said }) => said() !== ''));
  const winners = all.filter(({ said }) => said() === 'claimed');
  expect(winners).toHaveLength(1);
  for (const loser of all) if (loser !== winners[0]) expect(loser.said()).toBe(String(winners[0]!.child.pid));
  expect((await homeHolder(home))?.pid).toBe(winners[0]!.child.pid);
});

test('a killed holder blocks nobody', async () => {
  const { child, said } = claimant(0);
  await until('it has claimed', () => said() === 'claimed');
  await expect(claimHome(home)).rejects.toBeInstanceOf(HeldError);
  child.kill('SIGKILL');
  await until('it is gone', () => child.signalCode !== null);
  await claimHome(home);
  expect((await homeHolder(home))?.pid).toBe(process.pid);
});

test('neither a pid that was given to another process, nor a torn or a foreign file, blocks a claim', async () => {
  stale(3, JSON.stringify({ pid: process.pid, startTime: 'of another process' }));
  (await claimHome(home)).release();
  for (const content of ['', '{"pid":', 'null', '{"pid":"x"}']) {
    stale(9, content);
    (await claimHome(home)).release();
    expect(await homeHolder(home)).toBeNull();
  }
});

test('one claim at most is kept for each start, however often it is started', async () => {
  for (let start = 0; start < 5; start++) (await claimHome(home)).release();
  expect(readdirSync(join(home, 'start.lock'))).toEqual(['5']);
});
