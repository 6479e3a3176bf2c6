import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { parse } from 'dotenv';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mergeEnv } from '../../../src/adapters/env-file.ts';
import { endpointOf } from '../../../src/adapters/model/endpoint/endpoint.ts';
import { type SetupParts, setup } from '../../../src/cli/setup/setup.ts';
import { loadConfig } from '../../../src/config.ts';
import { until } from './chat-server.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-setup-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('merging settings into an .env file', () => {
  test('keeps comments, order and unknown lines', () => {
    const before = '# mine\nOTHER=1 # why\n\nexport AGENT_MODEL=old\nBROKEN LINE\nLAST=x';
    expect(mergeEnv(before, { AGENT_MODEL: 'new', FETCH_USER_NAME: 'Ada' })).toBe(
      '# mine\nOTHER=1 # why\n\nAGENT_MODEL=new\nBROKEN LINE\nLAST=x\nFETCH_USER_NAME=Ada\n',
    );
  });

  test('removes what is no longer set, and every double', () => {
    expect(mergeEnv('A=1\nB=2\nA=3\nC=4\n', { A: '5', B: undefined, D: undefined })).toBe('A=5\nC=4\n');
  });

  test('is not fooled by a value that spans lines', () => {
    const before = 'KEY="first\nAGENT_MODEL=not this\nlast"\nAGENT_MODEL=this\n';
    expect(mergeEnv(before, { AGENT_MODEL: 'new' })).toBe('KEY="first\nAGENT_MODEL=not this\nlast"\nAGENT_MODEL=new\n');
  });

  test('does not take a commented setting for a setting', () => {
    expect(mergeEnv('# A=1\n', { A: '2' })).toBe('# A=1\nA=2\n');
  });

  test.each([
    'plain',
    'two words',
    "it's",
    'a "b" c',
    'sharp # sign',
    '$HOME',
    'back\\nslash',
    ' padded ',
    'ends in \\',
    '',
    'ünï😀',
  ])('what is written is what is read: %j', (value) => {
    if (value.endsWith('\\')) expect(() => mergeEnv('', { A: value })).toThrow(/A /);
    else expect(parse(mergeEnv('X=1\n', { A: value, B: 'next' }))).toEqual({ X: '1', A: value, B: 'next' });
  });

  test('refuses a value that the file cannot hold', () => {
    expect(() => mergeEnv('', { A: 'one\nB=two' })).toThrow('A may not contain a line break.');
  });
});

describe('the three questions', () => {
  function terminal() {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 30 });
    let text = '';
    output.on('data', (chunk) => {
      text += chunk;
    });
    return { input, output, shows: (what: string) => until(`"${what}"`, () => text.includes(what)), text: () => text };
  }
  const config = () => loadConfig({ FETCH_HOME: home }, {});
  const local = {
    label: 'llama at localhost',
    kind: 'local',
    env: { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1', AGENT_MODEL: 'llama' },
  };
  const parts = (verify: SetupParts['verify'] = async () => ({ ok: true })): SetupParts => ({
    discover: async () => [local],
    models: async () => ['small', 'large'],
    verify,
  });
  const saved = () => parse(readFileSync(join(home, '.env')));

  test('take the defaults with Enter, and what they write is a valid configuration that only the person can read', async () => {
    writeFileSync(join(home, '.env'), '# kept\nOPENROUTER_API_KEY=old\nFETCH_MAX_STEPS=7\n');
    const { input, output, shows } = terminal();
    const done = setup(config(), parts(), { input, output });
    await shows('Which model?');
    input.write('\r');
    await shows('What may I call you?');
    input.write('Ada Lovelace\r');
    await shows('Your time zone?');
    input.write('Europe/Berlin\r');
    await done;
    expect(saved()).toEqual({
      FETCH_MAX_STEPS: '7',
      FETCH_USER_NAME: 'Ada Lovelace',
      FETCH_TIME_ZONE: 'Europe/Berlin',
      ...local.env,
    });
    expect(readFileSync(join(home, '.env'), 'utf8')).toContain('# kept\n');
    expect(statSync(join(home, '.env')).mode & 0o777).toBe(0o600);
    expect(config().AGENT_MODEL).toBe('llama');
  });

  test('say why a model does not answer and offer practice next', async () => {
    const { input, output, shows, text } = terminal();
    const done = setup(
      config(),
      parts(async () => ({ ok: false, error: 'connection refused by llama' })),
      { input, output },
    );
    await shows('Which model?');
    input.write('\r');
    await shows('connection refused by llama');
    await until('the question again', () => text().split('connection refused by llama')[1]!.includes('Which model?'));
    input.write('\r');
    await shows('What may I call you?');
    input.write('\x03');
    await done;
    expect(saved()).not.toHaveProperty('AGENT_MODEL');
    expect(endpointOf(config())).toBeNull();
    // what comes later wins over practice by itself
    expect(endpointOf(loadConfig({ FETCH_HOME: home }, { OPENAI_API_KEY: 'key' }))).toMatchObject({ kind: 'openai' });
  });

  test('take a key without showing it, offer what the endpoint lists, and save what has answered', async () => {
    const { input, output, shows, text } = terminal();
    const asked: unknown[] = [];
    const verify = async (env: Record<string, string>) => {
      asked.push(env);
      return { ok: true as const };
    };
    const models = async () => ['gpt-9', 'gpt-5-mini', 'o1'];
    const done = setup(config(), { ...parts(verify), models }, { input, output });
    await shows('Which model?');
    input.write('\x1b[B\r');
    await shows('Your key for OpenAI');
    input.write('sk-secret\r');
    await shows('Which of its models?');
    input.write('\r');
    await shows('It answers');
    await shows('What may I call you?');
    input.write('\x03');
    await done;
    const chosen = { OPENAI_API_KEY: 'sk-secret', AGENT_MODEL: 'gpt-5-mini' };
    expect(asked).toEqual([chosen]);
    expect(saved()).toMatchObject(chosen);
    expect(text()).not.toContain('sk-secret');
  });

  test('come back to the choice after a key that is refused', async () => {
    const { input, output, shows, text } = terminal();
    const models = async () => {
      throw new Error('Authentication failed: no such key');
    };
    const done = setup(config(), { ...parts(), models }, { input, output });
    await shows('Which model?');
    input.write('\x1b[B\r');
    await shows('Your key for OpenAI');
    input.write('wrong\r');
    await shows('Authentication failed: no such key');
    await until('the question again', () => text().split('no such key')[1]!.includes('Which model?'));
    input.write('\x03');
    await done;
    expect(saved()).not.toHaveProperty('OPENAI_API_KEY');
  });

  test('keep the defaults on Ctrl-C and go on', async () => {
    writeFileSync(join(home, '.env'), 'AGENT_MODEL=mine\nFETCH_TIME_ZONE=Asia/Tokyo\n');
    const { input, output, shows } = terminal();
    const done = setup(config(), parts(), { input, output });
    await shows('Which model?');
    input.write('\x03');
    await done;
    expect(saved()).toMatchObject({ AGENT_MODEL: 'mine', FETCH_TIME_ZONE: 'Asia/Tokyo' });
  });

  test('do not take a time zone that does not exist', async () => {
    const { input, output, shows } = terminal();
    const done = setup(config(), parts(), { input, output });
    await shows('Which model?');
    input.write('\r');
    await shows('What may I call you?');
    input.write('\r');
    await shows('Your time zone?');
    input.write('Mars/Base\r');
    await shows('Not an IANA time zone');
    input.write('\x03');
    await done;
    expect(saved().FETCH_TIME_ZONE).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  });
});
