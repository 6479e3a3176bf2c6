import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { run } from '../../../src/cli/instance/logs/logs.ts';
import { loadConfig } from '../../../src/config.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-logs-'));
  mkdirSync(join(home, 'logs'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(home, { recursive: true, force: true });
});

const log = (role: string, ...lines: string[]) =>
  writeFileSync(join(home, 'logs', `${role}.log`), lines.map((line) => `${line}\n`).join(''));
async function printed(options: Partial<Parameters<typeof run>[2]> = {}): Promise<string[]> {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += chunk;
    return true;
  });
  await run(loadConfig({ FETCH_HOME: home }, {}), undefined, { lines: 100, ...options });
  return text.split('\n').slice(0, -1);
}
const at = (second: number): number => Date.parse('2026-11-22T10:00:00Z') + second * 1000;

test('lines of all roles stand in the order of time, whatever wrote them', async () => {
  log(
    'worker',
    JSON.stringify({ level: 30, time: at(1), msg: 'first' }),
    JSON.stringify({ level: 50, time: at(4), msg: 'failed', reason: 'no disk' }),
  );
  log('postgres', '2026-11-22 10:00:02.500 UTC [12] LOG:  checkpoint', '\tof a line that goes on');
  log('temporal', JSON.stringify({ level: 'warn', ts: '2026-11-22T10:00:03Z', msg: 'slow' }));
  log('gateway', JSON.stringify({ level: 40, time: at(2), sdkComponent: 'worker', msg: 'No workflows registered' }));
  expect(await printed()).toEqual([
    '10:00:01.000 worker   first',
    '10:00:02.500 postgres checkpoint',
    '10:00:02.500 postgres \tof a line that goes on',
    '10:00:03.000 temporal ! slow',
    '10:00:04.000 worker   ✗ failed  reason=no disk',
  ]);
});

test('a program gets every line as JSON', async () => {
  log(
    'gateway',
    JSON.stringify({ level: 40, time: at(2), sdkComponent: 'worker', msg: 'No workflows registered' }),
    'plain',
  );
  expect((await printed({ json: true })).map((line) => JSON.parse(line))).toEqual([
    {
      time: '2026-11-22T10:00:02.000Z',
      role: 'gateway',
      level: 'warn',
      msg: 'No workflows registered',
      sdkComponent: 'worker',
    },
    { time: '2026-11-22T10:00:02.000Z', role: 'gateway', level: '', msg: 'plain' },
  ]);
});

test('the number of lines is that of all roles together', async () => {
  for (const role of ['worker', 'api'])
    log(role, ...[1, 2, 3].map((second) => JSON.stringify({ level: 30, time: at(second), msg: `${role} ${second}` })));
  expect(await printed({ lines: 2 })).toEqual(['10:00:03.000 worker   worker 3', '10:00:03.000 api      api 3']);
});
