import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { roleEnvironment } from '../../../src/cli/instance/supervisor/programs.ts';
import { watchSettings } from '../../../src/cli/roles/process/live-settings.ts';
import { loadConfig, reloadConfig, renewConfig } from '../../../src/config.ts';
import { createLog } from '../../../src/log.ts';
import { until } from '../../support/until.ts';

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-live-'));
  file = join(home, '.env');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const decided = { temporalAddress: '127.0.0.1:7233', databaseUrl: 'postgres://x/y' };
/** The configuration of a role of an instance that was started from this environment. */
const roleOf = (env: Record<string, string>) =>
  loadConfig({}, roleEnvironment(loadConfig({}, { FETCH_HOME: home, ...env }), decided));

test('a file that is changed, removed or written again is applied, and a broken one changes nothing', async () => {
  const config = loadConfig({}, { FETCH_HOME: home, LOG_LEVEL: 'fatal' });
  const stop = watchSettings(config);
  try {
    writeFileSync(file, 'FETCH_TASK_HOURS=2\n');
    await until('the new file counts', () => config.FETCH_TASK_HOURS === 2, 10_000);
    writeFileSync(file, 'FETCH_TASK_HOURS=never\nFETCH_PROGRESS_SECONDS=1\n');
    writeFileSync(`${file}.new`, 'FETCH_TASK_HOURS=3\n');
    renameSync(`${file}.new`, file);
    await until('the file in its place counts', () => config.FETCH_TASK_HOURS === 3, 10_000);
    expect(config.FETCH_PROGRESS_SECONDS).toBe(60);
    rmSync(file);
    await until('the default is back', () => config.FETCH_TASK_HOURS === 4, 10_000);
  } finally {
    stop();
  }
});

test('a role that is started while the file is broken keeps the settings of its instance', () => {
  writeFileSync(file, 'FETCH_TASK_HOURS=2\nLOG_LEVEL=fatal\n');
  const env = roleEnvironment(loadConfig({}, { FETCH_HOME: home }), decided);
  writeFileSync(file, 'FETCH_TASK_HOURS=never\n');
  const config = loadConfig({}, env);
  watchSettings(config)();
  expect(config.FETCH_TASK_HOURS).toBe(2);
});

test('a role that is started again has what was changed since, and else the settings of its fellows', () => {
  writeFileSync(file, 'FETCH_TASK_HOURS=2\nFETCH_STATUS_PORT=9001\nLOG_LEVEL=fatal\n');
  const env = roleEnvironment(loadConfig({}, { FETCH_HOME: home }), decided);
  writeFileSync(file, 'FETCH_TASK_HOURS=3\nFETCH_STATUS_PORT=9002\nLOG_LEVEL=fatal\n');
  const config = loadConfig({}, env);
  watchSettings(config)();
  expect([config.FETCH_TASK_HOURS, config.FETCH_STATUS_PORT]).toEqual([3, 9001]);
});

test('in a role the file changes what it or a default gave at the start, and nothing that the environment or the start decided', () => {
  const config = roleOf({ FETCH_PROGRESS_SECONDS: '9' });
  expect(reloadConfig(config)).toEqual({ updated: [], restart: [] });
  writeFileSync(file, 'FETCH_PROGRESS_SECONDS=1\nFETCH_TASK_HOURS=2\nFETCH_KENNEL_SLOTS=3\n');
  expect(reloadConfig(config)).toEqual({ updated: ['FETCH_TASK_HOURS'], restart: ['FETCH_KENNEL_SLOTS'] });
  expect([config.FETCH_PROGRESS_SECONDS, config.FETCH_TASK_HOURS, config.FETCH_KENNEL_SLOTS]).toEqual([9, 2, 4]);
});

test('a restart of the roles takes what the file says now, but for what the supervisor keeps', () => {
  const config = loadConfig({}, { FETCH_HOME: home });
  writeFileSync(file, 'FETCH_KENNEL_SLOTS=7\nFETCH_RUNTIME_HOST=0.0.0.0\nFETCH_RUNTIME_PORT=9001\n');
  renewConfig(config);
  expect([config.FETCH_KENNEL_SLOTS, config.runtimeHost, config.FETCH_RUNTIME_PORT]).toEqual([7, '0.0.0.0', 7878]);
  const role = loadConfig({}, roleEnvironment(config, decided));
  expect(reloadConfig(role).restart).toEqual(['FETCH_RUNTIME_PORT']);
});

test('the level of every log changes with its setting', async () => {
  const log = createLog('test', 'fatal');
  const config = loadConfig({}, { FETCH_HOME: home });
  writeFileSync(file, 'LOG_LEVEL=fatal\n');
  const stop = watchSettings(config);
  try {
    writeFileSync(file, 'LOG_LEVEL=error\n');
    await until('the log has the new level', () => log.level === 'error', 10_000);
  } finally {
    stop();
  }
});
