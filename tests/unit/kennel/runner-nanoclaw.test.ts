import { type ChildProcess, spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatOfRun, LogLine, RunSpec } from '../../../src/contracts/kennel.ts';
import { COMPILED } from '../../support/compiled.ts';
import { until } from '../../support/until.ts';

/** The runner with NanoClaw's protocol as processes of this machine, and a program that was made from its description. */

const CHAT: ChatOfRun = { jid: '123@g.us', folder: 'family', main: false, scheduled: false, assistant: 'Andy' };
const PROGRAM = ['node', resolve('tests/support/nanoclaw-agent/agent.mjs')];

let folder: string;
let step: number;
let runner: ChildProcess;
let host: Server;
let calls: Array<{ name: string; args: Record<string, unknown>; key: string }>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'claw-'));
  step = 0;
  calls = [];
  mkdirSync(join(folder, 'gate'));
  mkdirSync(join(folder, 'workspace'));
  host = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    if (request.method === 'POST') calls.push(JSON.parse(body));
    response.end(request.method === 'POST' ? '{"text":"done","ok":true}' : JSON.stringify({ at: request.url }));
  });
  await new Promise<void>((done) => host.listen(join(folder, 'gate/mcp.sock'), done));
});
afterEach(async () => {
  if (runner.exitCode === null) runner.kill('SIGKILL');
  host.closeAllConnections();
  await new Promise((done) => host.close(done));
  rmSync(folder, { recursive: true, force: true });
});

function start(prompt: string, spec: Partial<RunSpec> = {}, env: NodeJS.ProcessEnv = {}): void {
  step += 1;
  const whole: RunSpec = {
    version: 1,
    taskId: 'task',
    step,
    harness: 'nanoclaw',
    prompt,
    sessionId: null,
    model: null,
    permissions: 'run',
    holdMs: 60_000,
    mcp: ['nanoclaw'],
    chat: CHAT,
    ...spec,
  };
  writeFileSync(join(folder, 'spec.json'), JSON.stringify(whole));
  runner = spawn(process.execPath, [resolve('kennel/runner/main.ts')], {
    cwd: join(folder, 'workspace'),
    env: {
      ...COMPILED,
      PATH: process.env.PATH,
      FETCH_RUN_FOLDER: folder,
      FETCH_IMAGE_COMMAND: Buffer.from(JSON.stringify(PROGRAM)).toString('base64'),
      FETCH_NANOCLAW_QUIET_MS: '400',
      FETCH_NANOCLAW_FILES_MS: '50',
      TEST_IPC: join(folder, 'home/ipc'),
      ...env,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

const command = (value: object): void =>
  appendFileSync(join(folder, 'commands.ndjson'), `${JSON.stringify({ step, ...value })}\n`);
const lines = (): LogLine[] =>
  existsSync(join(folder, 'log.ndjson'))
    ? readFileSync(join(folder, 'log.ndjson'), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as LogLine)
    : [];
const of = <Type extends LogLine['type']>(type: Type) =>
  lines().filter((line): line is Extract<LogLine, { type: Type }> => line.type === type);
const said = (): string[] => of('text').map(({ text }) => text.trim());
const read = (name: string): string => readFileSync(join(folder, 'workspace', name), 'utf8');
const ended = async () => {
  await until('the runner has ended', () => runner.exitCode !== null || runner.signalCode !== null, 90_000);
  return of('ended').at(-1)!;
};

describe("an agent of NanoClaw's image", () => {
  it('is told what the protocol says, with no real key, and answers several times', async () => {
    start('input\nraw [agent-runner] noise\nsay one & <two>\nsay <internal>not for people</internal>\nsay three');
    expect(await ended()).toMatchObject({ outcome: 'completed' });
    expect(said()).toEqual(['one & <two>', 'three']);
    const input = JSON.parse(read('input.json')) as Record<string, unknown> & { secrets: Record<string, string> };
    expect(input).toMatchObject({ groupFolder: 'family', chatJid: '123@g.us', isMain: false, assistantName: 'Andy' });
    expect(input.prompt).toMatch(
      /^<messages>\n<message sender="[^"]+" time="[^"]+Z">input\n[\s\S]+<\/message>\n<\/messages>$/,
    );
    expect(input.prompt).toContain('one &amp; &lt;two&gt;');
    expect(input).not.toHaveProperty('sessionId');
    expect(input).not.toHaveProperty('isScheduledTask');
    expect(Object.keys(input.secrets).sort()).toEqual(['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL']);
    expect(input.secrets.ANTHROPIC_API_KEY).toMatch(/^sk-fetch-/);
    expect(input.secrets.ANTHROPIC_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/anthropic$/);
    // it was told to end, and nothing is left for a later one
    expect(readdirSync(join(folder, 'home/ipc/input'))).toEqual([]);
  });

  it('is told a scheduled prompt as it stands', async () => {
    start('input\nsay done', { chat: { ...CHAT, scheduled: true, main: true } });
    await ended();
    expect(JSON.parse(read('input.json'))).toMatchObject({
      prompt: 'input\nsay done',
      isScheduledTask: true,
      isMain: true,
    });
  });

  it('hears more while it runs, in the same session, and goes on in it in another container', async () => {
    start('say one\nwait 2000');
    await until('it has begun', () => of('session').length > 0);
    command({ id: 'c1', type: 'tell', wordsId: 'more', text: 'input\nsay two' });
    expect(await ended()).toMatchObject({ outcome: 'completed' });
    expect(said()).toEqual(['one', 'two']);
    expect(of('told')).toMatchObject([{ ids: ['more'] }]);
    const first = JSON.parse(read('input.json')) as { prompts: string };
    // both prompts reached one program
    expect(first.prompts).toContain('say one');
    start('input\nsay three', { sessionId: of('session')[0]!.sessionId });
    expect(await ended()).toMatchObject({ outcome: 'completed' });
    const later = JSON.parse(read('input.json')) as { sessionId: string; prompts: string };
    expect(later.sessionId).toMatch(/^session-/);
    expect(later.prompts).toContain('say two');
    rmSync(join(folder, 'home/.claude'), { recursive: true });
    start('input\nsay four', { sessionId: of('session')[0]!.sessionId });
    expect(await ended()).toMatchObject({ outcome: 'completed' });
    // its session is lost, so it begins anew
    expect(JSON.parse(read('input.json'))).not.toHaveProperty('sessionId');
  });

  it('asks the host by files, each carried out once, and reads what there is', async () => {
    const message = { type: 'message', chatJid: '123@g.us', text: 'half way' };
    const task = { type: 'schedule_task', prompt: 'look', schedule_type: 'interval', schedule_value: '3600000' };
    start(
      [
        'groups',
        'tasks',
        `message ${JSON.stringify(message)}`,
        `task ${JSON.stringify({ ...task, targetJid: '123@g.us', isMain: true })}`,
        'file messages/broken.json {"type":',
        'link messages/linked.json',
        'say done',
      ].join('\n'),
    );
    expect(await ended()).toMatchObject({ outcome: 'completed' });
    expect(calls.map(({ name }) => name).sort()).toEqual(['schedule_task', 'send_message']);
    expect(calls.find(({ name }) => name === 'send_message')?.args).toEqual({ text: 'half way' });
    expect(readdirSync(join(folder, 'home/ipc/errors')).sort()).toEqual([
      'messages-broken.json',
      'messages-linked.json',
    ]);
    expect(readdirSync(join(folder, 'home/ipc/messages'))).toEqual([]);
    expect(JSON.parse(read('groups.json'))).toEqual({ at: '/nanoclaw/available_groups.json' });
    expect(JSON.parse(read('tasks.json'))).toEqual({ at: '/nanoclaw/current_tasks.json' });
  });

  it('fails with what it says of an error, and with the code of a program that ends badly', async () => {
    start('say one\nfail the model is gone');
    expect(await ended()).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('the model is gone') });
    expect(said()).toEqual(['one']);
    start('exit 3');
    expect(await ended()).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('exited with code 3') });
    start('exit 0');
    expect(await ended()).toMatchObject({ outcome: 'completed' });
  });

  it('has its time again from each answer on, and is ended when it answers nothing for so long', async () => {
    const env = { FETCH_NANOCLAW_TIMEOUT_MS: '4000', FETCH_NANOCLAW_QUIET_MS: '60000' };
    start('wait 2500\nsay one\nwait 2500\nsay two\nwait 60000', {}, env);
    expect(await ended()).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('answered nothing for') });
    expect(said()).toEqual(['one', 'two']);
  });

  it('begins only after a yes where a person wants to be asked, because it asks nothing itself', async () => {
    start('say one', { permissions: 'ask' });
    const [asked] = await until('it asks', () => (of('permission').length > 0 ? of('permission') : null));
    expect(asked!.title).toContain('Work without asking');
    command({ id: 'c1', type: 'permit', permissionId: asked!.id, decision: 'deny' });
    await ended();
    expect(said()).toEqual([]);
  });

  it('ends when it is cancelled', async () => {
    start('wait 60000');
    const home = join(folder, 'home/.claude');
    await until('it works', () => existsSync(home) && readdirSync(home).some((name) => name.endsWith('.jsonl')));
    command({ id: 'c1', type: 'cancel' });
    expect(await ended()).toMatchObject({ outcome: 'cancelled' });
  });
});
