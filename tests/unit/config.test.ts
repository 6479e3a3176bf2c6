import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, childEnvironment, configWarnings, loadConfig } from '../../src/config.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-config-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test('without any setting every default is there', () => {
  const config = loadConfig({}, { FETCH_HOME: home });
  expect(config).toMatchObject({
    FETCH_RUNTIME_PORT: 7878,
    FETCH_STATUS_PORT: 8765,
    FETCH_TEMPORAL_PORT: 7233,
    FETCH_TEMPORAL_UI_PORT: 8233,
    FETCH_HOST: '127.0.0.1',
  });
});

test('a flag wins over the environment, which wins over the file in the home', () => {
  writeFileSync(join(home, '.env'), 'FETCH_RUNTIME_PORT=1001\nFETCH_STATUS_PORT=1002\nFETCH_TEMPORAL_PORT=1003\n');
  const config = loadConfig({ FETCH_RUNTIME_PORT: '3001' }, { FETCH_HOME: home, FETCH_RUNTIME_PORT: '2001', FETCH_STATUS_PORT: '2002' });
  expect([config.FETCH_RUNTIME_PORT, config.FETCH_STATUS_PORT, config.FETCH_TEMPORAL_PORT]).toEqual([3001, 2002, 1003]);
});

test('every problem is reported at once, by name and by where it was set', () => {
  writeFileSync(join(home, '.env'), 'LOG_LEVEL=loud\n');
  const load = () => loadConfig({ FETCH_RUNTIME_PORT: '0' }, { FETCH_HOME: home, DATABASE_URL: 'mysql://x', FETCH_TIME_ZONE: 'Mars/Base' });
  expect(load).toThrow(ConfigError);
  try {
    load();
  } catch (error) {
    const { problems } = error as ConfigError;
    expect(problems).toHaveLength(4);
    expect(problems.join('\n')).toMatch(/FETCH_RUNTIME_PORT \(flag\)/);
    expect(problems.join('\n')).toMatch(/DATABASE_URL \(environment\): must start with postgres/);
    expect(problems.join('\n')).toMatch(/FETCH_TIME_ZONE \(environment\): is not an IANA time zone/);
    expect(problems.join('\n')).toMatch(/LOG_LEVEL \(.*\.env\)/);
  }
});

test('an empty variable means unset', () => {
  expect(loadConfig({}, { FETCH_HOME: home, TEMPORAL_ADDRESS: ' ', OPENAI_API_KEY: '' })).toMatchObject({ FETCH_RUNTIME_PORT: 7878 });
});

test('the runtime token may be set under either of its names', () => {
  expect(loadConfig({}, { FETCH_HOME: home, DEEPSEEK_RUNTIME_TOKEN: 'b' }).runtimeToken).toBe('b');
  expect(loadConfig({}, { FETCH_HOME: home, DEEPSEEK_RUNTIME_TOKEN: 'b', FETCH_RUNTIME_TOKEN: 'a' }).runtimeToken).toBe('a');
});

test('a child gets the environment without what npm put there', () => {
  expect(childEnvironment({ A: '1' }, { PATH: '/bin', npm_config_registry: 'x' })).toEqual({ PATH: '/bin', TZ: 'UTC', A: '1' });
});

describe('what nothing reads', () => {
  const written = (text: string): string[] => {
    writeFileSync(join(home, '.env'), text);
    return configWarnings(home, { FETCH_AUTONMY: 'supervised', PATH: '/bin', OTHER_TOKEN: 'x' }).map((warning) => warning.replaceAll(home, ''));
  };

  test('is told, with the nearest right name', () => {
    const [file, environment] = written('FETCH_MAX_STEP=3\nSOMETHING_ELSE=1\n');
    expect(file).toBe('FETCH_MAX_STEP (/.env) is no setting and is ignored. Did you mean FETCH_MAX_STEPS?');
    expect(environment).toMatch(/^FETCH_AUTONMY \(environment\) is no setting and is ignored\. Did you mean FETCH_AUTONOMY/);
  });

  test('is a line that assigns nothing, and no line of a value that spans several', () => {
    const lines = written('# mine\n\nAGENT_MODEL\nexport LOG_LEVEL=info\nFETCH_USER_NAME="Ada\nof London"\nnot this: either\n').filter((warning) =>
      warning.startsWith('Line'),
    );
    expect(lines.map((line) => line.split(' ')[1])).toEqual(['3', '7']);
  });
});
