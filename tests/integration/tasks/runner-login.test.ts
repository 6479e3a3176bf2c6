import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ProfileContext, profileOf } from '../../../kennel/runner/profile/profile.ts';
import { AGENT_NAMES, type AgentName, type LogLine, type RunSpec } from '../../../src/contracts/kennel.ts';
import { COMPILED } from '../../support/compiled.ts';

/** The runner as a process of this machine, with a program in the place of each agent that tells what it was given. */

const MAIN = resolve('kennel/runner/main.ts');
const TOKEN = 'tok_0123456789abcdefghijklmnopqrstuvwxyz';
const LOGIN = JSON.stringify({ auth: { access_token: TOKEN, expires: 4102444800 } });

/** Speaks just enough of ACP; writes its environment into the workspace, and does what `act.cjs` there says. */
const AGENT = `#!/usr/bin/env node
const fs = require('node:fs');
fs.writeFileSync('env.json', JSON.stringify(process.env));
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') return send({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } });
  if (method === 'session/new') return send({ id, result: { sessionId: 's1' } });
  if (method !== 'session/prompt') return id === undefined || send({ id, result: {} });
  const text = fs.existsSync('act.cjs') ? String(require(process.cwd() + '/act.cjs')) : 'done';
  send({ method: 'session/update', params: { sessionId: 's1', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
  send({ id, result: { stopReason: 'end_turn', usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } } });
}).on('close', () => process.exit(0));
`;

const BIN = '/agents-of-this-test/bin/';
const outside = {
  home: '/none',
  workspace: '/none',
  model: null,
  login: false,
  dummyKey: 'sk-none',
  modelBase: 'http://none',
  permissions: 'run',
};
const AGENTS = await Promise.all(
  AGENT_NAMES.map(async (name): Promise<[agent: AgentName, program: string, file: string]> => {
    const { command, login } = await profileOf(name);
    const { argv } = command({ ...outside, env: { FETCH_AGENT: dirname(BIN) } } as unknown as ProfileContext);
    return [name, argv.find((each) => each.startsWith(BIN))!.slice(BIN.length), login];
  }),
);

let folder: string;
let workspace: string;
let step: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'run-login-'));
  workspace = join(folder, 'workspace');
  step = 0;
  for (const name of ['gate', 'agent/bin', 'workspace']) mkdirSync(join(folder, name), { recursive: true });
  for (const [, program] of AGENTS) writeFileSync(join(folder, 'agent/bin', program), AGENT, { mode: 0o755 });
  writeFileSync(join(folder, 'login'), LOGIN, { mode: 0o400 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(harness: AgentName, more: Partial<RunSpec> = {}): Promise<LogLine[]> {
  step += 1;
  const spec: RunSpec = {
    version: 1,
    taskId: 't',
    step,
    harness,
    prompt: 'x',
    sessionId: null,
    model: null,
    permissions: 'run',
    holdMs: 60_000,
    ...more,
  };
  writeFileSync(join(folder, 'spec.json'), JSON.stringify(spec));
  const env = { ...COMPILED, PATH: process.env.PATH, FETCH_RUN_FOLDER: folder, FETCH_AGENT: join(folder, 'agent') };
  const runner = spawn(process.execPath, [MAIN], { cwd: workspace, env, stdio: ['ignore', 'inherit', 'inherit'] });
  await once(runner, 'exit');
  return readFileSync(join(folder, 'log.ndjson'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine);
}
const env = (): Record<string, string> => JSON.parse(readFileSync(join(workspace, 'env.json'), 'utf8'));
const home = (file: string): string => join(folder, 'home', file);
/** What would lead an agent to the model proxy: its dummy key, or its address other than as the address of a proxy. */
const waysToTheGate = (): string[] =>
  Object.entries(env()).flatMap(([name, value]) =>
    !/^(https?|no)_proxy$/i.test(name) &&
    /sk-fetch-|127\.0\.0\.1:\d+(\/(anthropic|openai|gemini))?|COPILOT_OFFLINE/.test(`${name} ${value}`)
      ? [name]
      : [],
  );

describe.each(AGENTS)('%s with a log-in', (harness, _, file) => {
  it('finds a copy of its own where it looks for it, and neither the address of the model proxy nor a dummy key', async () => {
    expect((await run(harness, { login: true })).at(-1)).toMatchObject({ type: 'ended', outcome: 'completed' });
    expect(readFileSync(home(file), 'utf8')).toBe(LOGIN);
    expect(statSync(home(file)).mode & 0o777).toBe(0o600);
    expect(env()).toMatchObject({
      HOME: join(folder, 'home'),
      HTTPS_PROXY: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
    });
    expect(waysToTheGate()).toEqual([]);
    if (harness === 'codex')
      expect(readFileSync(home('.codex/config.toml'), 'utf8')).not.toMatch(/model_provider|127\.0\.0\.1/);
    // or it would ask its maker's models, which no log-in is needed for
    if (harness === 'opencode')
      expect(JSON.parse(env().OPENCODE_CONFIG_CONTENT!)).toMatchObject({ enabled_providers: ['auth'] });
    if (harness === 'gemini')
      expect(readFileSync(home('.gemini/settings.json'), 'utf8')).toContain('"selectedType":"oauth-personal"');
  });

  it('has the model proxy and nothing of a log-in when the step is without one, though a file lies there', async () => {
    expect((await run(harness)).at(-1)).toMatchObject({ type: 'ended', outcome: 'completed' });
    expect(existsSync(home(file))).toBe(false);
    expect(waysToTheGate().length).toBeGreaterThan(0);
    if (harness === 'codex')
      expect(readFileSync(home('.codex/config.toml'), 'utf8')).toMatch(
        /^model_provider = "fetch"[\s\S]*\[model_providers\.fetch\]\nname/,
      );
  });
});

describe('a log-in', () => {
  const [, , file] = AGENTS.find(([name]) => name === 'claude')!;
  const act = (script: string): void => writeFileSync(join(workspace, 'act.cjs'), script);

  it('that the agent renewed is kept for the next step, and one that the person renewed later is taken', async () => {
    act(`require('node:fs').writeFileSync(process.env.HOME + '/${file}', 'renewed'); module.exports = 'ok'`);
    await run('claude', { login: true });
    expect(readFileSync(join(folder, 'login'), 'utf8')).toBe(LOGIN);
    act(`module.exports = 'ok'`);
    await run('claude', { login: true, sessionId: 's1' });
    expect(readFileSync(home(file), 'utf8')).toBe('renewed');
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(folder, 'login'), later, later);
    await run('claude', { login: true, sessionId: 's1' });
    expect(readFileSync(home(file), 'utf8')).toBe(LOGIN);
  });

  it('is hidden in what the agent says', async () => {
    act(
      `module.exports = 'the token is ' + JSON.parse(require('node:fs').readFileSync(process.env.HOME + '/${file}', 'utf8')).auth.access_token`,
    );
    const lines = await run('claude', { login: true });
    expect(lines.find((line) => line.type === 'text')).toMatchObject({ text: 'the token is [hidden]' });
    expect(JSON.stringify(lines)).not.toContain(TOKEN);
  });

  it('that is not there ends the step with the reason, before the agent is started', async () => {
    rmSync(join(folder, 'login'));
    expect((await run('claude', { login: true })).at(-1)).toMatchObject({
      type: 'ended',
      outcome: 'failed',
      reason: expect.stringContaining('ENOENT'),
    });
    expect(existsSync(join(workspace, 'env.json'))).toBe(false);
  });
});
