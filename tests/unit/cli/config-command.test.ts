import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { effectiveSettings, type ShownSetting } from '../../../src/adapters/settings-file.ts';
import { set } from '../../../src/cli/setup/config.ts';
import { loadConfig, settings } from '../../../src/config.ts';
import { isListed } from '../../../src/domain/settings/listed.ts';

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-set-'));
  file = join(home, '.env');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const write = (name: string, value: string) => set({ FETCH_HOME: home }, name, value);

describe('fetch config', () => {
  const shown = (env: Record<string, string>): Map<string, ShownSetting> =>
    new Map(effectiveSettings(loadConfig({}, { FETCH_HOME: home, ...env })).map((each) => [each.name, each]));

  test('shows every listed setting, and what somebody has set besides, with its value and where that comes from', () => {
    writeFileSync(file, 'FETCH_MAX_STEPS=9\n');
    const found = shown({ FETCH_TASK_HOURS: '2' });
    expect([...found.keys()]).toEqual(
      Object.keys(settings).filter((name) => isListed(name) || name === 'FETCH_MAX_STEPS'),
    );
    expect(found.get('FETCH_MAX_STEPS')).toEqual({ name: 'FETCH_MAX_STEPS', value: '9', source: 'file', live: true });
    expect(found.get('FETCH_TASK_HOURS')).toMatchObject({ value: '2', source: 'environment', live: true });
    expect(found.get('FETCH_STATUS_PORT')).toMatchObject({ value: '8765', source: 'default' });
    expect(found.get('AGENT_MODEL')).toMatchObject({ value: null, source: 'default' });
  });

  test('masks secrets, also the passwords in addresses', () => {
    const secrets = {
      ADMIN_TOKEN: 'hush-1',
      OPENAI_API_KEY: 'hush-2',
      GH_TOKEN: 'hush-3',
      FETCH_ENCRYPTION_KEY: 'ab'.repeat(32),
      TEMPORAL_API_KEY: 'hush-4',
      DATABASE_URL: 'postgres://fetch:hush-5@db/fetch',
      FETCH_SEARXNG_URL: 'https://me:hush-6@search.example.com',
    };
    const found = shown(secrets);
    expect(JSON.stringify([...found.values()])).not.toMatch(/hush|abab/);
    expect(found.get('DATABASE_URL')!.value).toBe('postgres://fetch:********@db/fetch');
    expect(found.get('ADMIN_TOKEN')).toMatchObject({ value: '********', source: 'environment' });
  });

  test('every setting whose name says that it is a secret is one', () => {
    const all = Object.fromEntries(Object.keys(settings).map((name) => [name, /_KEY$|TOKEN$/.test(name)]));
    delete all.WA_NOISE_ROOT_KEY;
    const found = shown({
      ...Object.fromEntries(Object.keys(all).flatMap((name) => (all[name] ? [[name, 'a'.repeat(64)]] : []))),
    });
    for (const [name, secret] of Object.entries(all))
      if (secret) expect([name, found.get(name)!.value]).toEqual([name, '********']);
  });
});

describe('fetch config set', () => {
  test('writes to the file, which keeps its comments, its order and its mode', async () => {
    writeFileSync(file, '# mine\nOTHER=1 # why\nFETCH_MAX_STEPS=9 # few\n\nLAST=x\n');
    chmodSync(file, 0o600);
    await write('FETCH_MAX_STEPS', '12');
    await write('FETCH_USER_NAME', 'Ada L');
    expect(readFileSync(file, 'utf8')).toBe(
      "# mine\nOTHER=1 # why\nFETCH_MAX_STEPS=12 # few\n\nLAST=x\nFETCH_USER_NAME='Ada L'\n",
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('makes the file readable for its user alone', async () => {
    await write('ADMIN_TOKEN', 'hush');
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['ADMIN_TOKEN=hush\n', 0o600]);
  });

  test('an empty value removes it', async () => {
    writeFileSync(file, 'FETCH_MAX_STEPS=9\nA=1\n');
    await write('FETCH_MAX_STEPS', '');
    expect(readFileSync(file, 'utf8')).toBe('A=1\n');
  });

  test.each([
    ['FETCH_MAX_STEPS', 'many', /FETCH_MAX_STEPS: .*Nothing was changed/],
    ['FETCH_TIME_ZONE', 'Europe/Berln', /did you mean Europe\/Berlin\?/],
    ['FETCH_KENNEL_AGENTS', 'claude,codx', /"codx" is not one of .*did you mean codex\?/],
    ['FETCH_MAX_DAY_US', '3', /FETCH_MAX_DAY_US is no setting\. Did you mean FETCH_MAX_DAY_USD\?/],
    ['FETCH_HOME', '/elsewhere', /FETCH_HOME says where the file is/],
    ['FETCH_USER_NAME', 'a\nADMIN_TOKEN=b', /may not contain a line break/],
  ])('refuses %s=%s', async (name, value, why) => {
    writeFileSync(file, 'A=1\n');
    await expect(write(name, value)).rejects.toThrow(why);
    expect(readFileSync(file, 'utf8')).toBe('A=1\n');
  });

  test('repairs a file that stops everything else', async () => {
    writeFileSync(file, 'FETCH_MAX_STEPS=many\n');
    await write('FETCH_MAX_STEPS', '3');
    expect(loadConfig({ FETCH_HOME: home }, {}).FETCH_MAX_STEPS).toBe(3);
  });
});
