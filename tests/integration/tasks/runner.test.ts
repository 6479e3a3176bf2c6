import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Command, LogLine, RunSpec } from '../../../src/contracts/kennel.ts';
import { COMPILED } from '../../support/compiled.ts';
import { until } from '../../support/until.ts';

/** The runner and its agent as processes of this machine: what a container adds is its walls. */

const MAIN = resolve('kennel/runner/main.ts');

class Run {
  readonly folder = mkdtempSync(join(tmpdir(), 'run-'));
  readonly workspace = join(this.folder, 'workspace');
  private readonly processes: ChildProcess[] = [];
  private step = 0;
  /** highest resident memory of a runner that was seen, in MB */
  peak = 0;

  constructor() {
    mkdirSync(join(this.folder, 'gate'), { recursive: true });
    mkdirSync(this.workspace);
  }

  /** Starts the next step; `agent` is a program (JavaScript) instead of the practice agent. */
  start(
    spec: Partial<RunSpec> & { prompt: string },
    options: { agent?: string; env?: Record<string, string> } = {},
  ): ChildProcess {
    this.step += 1;
    const whole: RunSpec = {
      version: 1,
      taskId: 'task',
      step: this.step,
      harness: 'practice',
      sessionId: null,
      model: null,
      permissions: 'ask',
      holdMs: 60_000,
      ...spec,
    };
    writeFileSync(join(this.folder, 'spec.json'), JSON.stringify(whole));
    const env: NodeJS.ProcessEnv = {
      ...COMPILED,
      PATH: process.env.PATH,
      FETCH_RUN_FOLDER: this.folder,
      ...options.env,
    };
    if (options.agent !== undefined) {
      const bin = join(this.folder, 'agent', 'bin');
      mkdirSync(bin, { recursive: true });
      writeFileSync(join(bin, 'practice'), options.agent);
      env.FETCH_AGENT = join(this.folder, 'agent');
    }
    const runner = spawn(process.execPath, [MAIN], {
      cwd: this.workspace,
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    this.processes.push(runner);
    return runner;
  }

  lines(): LogLine[] {
    const path = join(this.folder, 'log.ndjson');
    if (!existsSync(path)) return [];
    const text = readFileSync(path, 'utf8');
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LogLine);
  }

  async line<Type extends LogLine['type']>(
    type: Type,
    nth = 1,
    ms = 20_000,
  ): Promise<Extract<LogLine, { type: Type }>> {
    return await until(
      `line ${type}`,
      () => this.lines().filter((line): line is Extract<LogLine, { type: Type }> => line.type === type)[nth - 1],
      ms,
    );
  }

  /** Waits for the end of the step, and sees that the log is what the contract says. */
  async ended(runner: ChildProcess, ms = 30_000): Promise<Extract<LogLine, { type: 'ended' }>> {
    await until(
      'the end of the runner',
      () => {
        if (runner.exitCode === null && runner.signalCode === null)
          this.peak = Math.max(this.peak, resident(runner.pid!));
        return runner.exitCode !== null || runner.signalCode !== null;
      },
      ms,
    );
    const lines = this.lines();
    const mine = lines.filter((line) => line.step === this.step);
    expect(runner.exitCode).toBe(0);
    expect(lines.map((line) => line.seq)).toEqual(lines.map((_, at) => at + 1));
    expect(mine[0]!.type).toBe('started');
    expect(mine.filter((line) => line.type === 'ended')).toHaveLength(1);
    const last = lines.at(-1)!;
    if (last.type !== 'ended') throw new Error('the last line is no end');
    return last;
  }

  command(
    command:
      | Omit<Extract<Command, { type: 'answer' }>, 'step'>
      | Omit<Extract<Command, { type: 'permit' }>, 'step'>
      | Omit<Extract<Command, { type: 'cancel' }>, 'step'>
      | Omit<Extract<Command, { type: 'begin' }>, 'step'>
      | Omit<Extract<Command, { type: 'tell' }>, 'step'>,
    times = 1,
  ): void {
    for (let n = 0; n < times; n++)
      appendFileSync(join(this.folder, 'commands.ndjson'), `${JSON.stringify({ step: this.step, ...command })}\n`);
  }

  read(file: string): string {
    return readFileSync(join(this.workspace, file), 'utf8');
  }

  text(): string {
    return this.lines()
      .map((line) => (line.type === 'text' ? line.text : ''))
      .join('');
  }

  destroy(): void {
    for (const child of this.processes) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function resident(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** Waits until a runner follows its commands and has used no CPU in some looks: it waits for something. */
async function following(pid: number): Promise<void> {
  let before = '';
  let quiet = 0;
  await until('the runner waits', () => {
    const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlink(`/proc/${pid}/fd/${fd}`));
    const used = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ').slice(13, 15).join(' ');
    quiet = used === before && open.includes('anon_inode:inotify') ? quiet + 1 : 0;
    before = used;
    return quiet >= 10;
  });
}

function readlink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function alive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

let runs: Run[] = [];
function newRun(): Run {
  const run = new Run();
  runs.push(run);
  return run;
}
afterEach(() => {
  for (const run of runs) run.destroy();
  runs = [];
});

describe('a step with the practice agent', () => {
  test('follows a whole goal and tells of each part', async () => {
    const run = newRun();
    const ended = await run.ended(
      run.start({ prompt: 'write a.txt one; append a.txt two; wait 1; run cat a.txt; say all is well' }),
    );
    expect(ended).toMatchObject({ outcome: 'completed' });
    expect(run.read('a.txt')).toBe('one\ntwo\n');
    const lines = run.lines();
    expect(lines[0]).toMatchObject({ type: 'started', harness: 'practice' });
    expect(lines[1]).toMatchObject({ type: 'session', resumed: false });
    expect(
      lines.find((line) => line.type === 'tool' && line.kind === 'execute' && line.status === 'completed'),
    ).toMatchObject({
      title: 'cat a.txt',
      detail: '$ cat a.txt\none\ntwo',
    });
    expect(lines.find((line) => line.type === 'tool' && line.kind === 'edit')).toMatchObject({ paths: ['a.txt'] });
    expect(run.text()).toBe('all is well\nDone: 5 of 5.\n');
  });

  test('hears what a person says as its next prompt, in the same session, once', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'wait 2; write a.txt one', words: ['before'] });
    await run.line('tool');
    const tell = { id: 'c1', type: 'tell', wordsId: 'more', text: 'append a.txt two' } as const;
    run.command(tell);
    run.command({ ...tell, id: 'c2' });
    run.command({ ...tell, id: 'c3', wordsId: 'before' });
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    expect(run.read('a.txt')).toBe('one\ntwo\n');
    expect(run.lines().filter(({ type }) => type === 'told' || type === 'session')).toMatchObject([
      { type: 'session' },
      { type: 'told', ids: ['before'] },
      { type: 'told', ids: ['more'] },
    ]);
  });

  test('starts nothing before it is told to begin, where it waits for that', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'write a.txt one', waits: true }, { env: { FETCH_RUN_TOKEN: 'mine' } });
    await following(runner.pid!);
    expect(run.lines()).toEqual([]);
    expect(childrenOf(runner.pid!)).toEqual([]);
    run.command({ id: 'c1', type: 'begin', token: 'mine' }, 2);
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    expect(run.read('a.txt')).toBe('one\n');
  });

  test.each([
    ['another container is told to begin in its place', { id: 'c1', type: 'begin', token: 'of another' } as const, 1],
    ['it is cancelled', { id: 'c1', type: 'cancel' } as const, 0],
  ])('leaves without a trace when it waits and %s', async (_, command, code) => {
    const run = newRun();
    const runner = run.start({ prompt: 'write a.txt one', waits: true }, { env: { FETCH_RUN_TOKEN: 'mine' } });
    await following(runner.pid!);
    run.command(command);
    await until('its end', () => runner.exitCode !== null);
    expect([runner.exitCode, run.lines(), readdirSync(run.workspace)]).toEqual([code, [], []]);
  });

  test('fails with the reason of the agent, and what was done stays', async () => {
    const run = newRun();
    const ended = await run.ended(run.start({ prompt: 'write a.txt one; fail the tests are red; write b.txt two' }));
    expect(ended.outcome).toBe('failed');
    expect(ended.reason).toContain('the tests are red');
    expect(readdirSync(run.workspace)).toEqual(['a.txt']);
  });

  test('says what it understands when it does not understand', async () => {
    const run = newRun();
    const ended = await run.ended(run.start({ prompt: 'bark' }));
    expect(ended).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('I do not understand: bark') });
    expect(run.text()).toContain('write FILE TEXT');
  });

  test('asks, waits and goes on with the answer, which counts once however often it is written', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'ask Which color? | red | blue; write color.txt {answer}' });
    const question = await run.line('question');
    expect(question).toMatchObject({ question: 'Which color?', options: ['red', 'blue'] });
    run.command({ id: 'c1', type: 'answer', questionId: 'q999', answer: 'nobody asked' });
    run.command({ id: 'c2', type: 'answer', questionId: question.id, answer: 'blue' }, 3);
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    expect(run.read('color.txt')).toBe('blue\n');
    expect(run.lines().filter((line) => line.type === 'settled')).toMatchObject([{ id: question.id, how: 'answered' }]);
  });

  test('does what is allowed and not what is denied', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'allow? touch yes; allow? touch no; say end' });
    const first = await run.line('permission');
    expect(first).toMatchObject({ command: 'touch yes', kind: 'execute' });
    expect(existsSync(join(run.workspace, 'yes'))).toBe(false);
    run.command({ id: 'c1', type: 'permit', permissionId: first.id, decision: 'allow' });
    const second = await run.line('permission', 2);
    run.command({ id: 'c2', type: 'permit', permissionId: second.id, decision: 'deny' });
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    expect(readdirSync(run.workspace)).toEqual(['yes']);
    expect(run.text()).toContain('Not allowed, so not done: touch no');
  });

  test('asks nothing where nothing is to be asked', async () => {
    const run = newRun();
    expect(await run.ended(run.start({ prompt: 'allow? touch yes', permissions: 'run' }))).toMatchObject({
      outcome: 'completed',
    });
    expect(readdirSync(run.workspace)).toEqual(['yes']);
  });

  test('ends in order when it is cancelled, with everything that it started', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'run echo $$ > pid\\; exec sleep 300' });
    const pid = Number(
      await until('the shell', () => existsSync(join(run.workspace, 'pid')) && run.read('pid').trim(), 20_000),
    );
    const began = Date.now();
    run.command({ id: 'c1', type: 'cancel' }, 2);
    expect(await run.ended(runner)).toMatchObject({ outcome: 'cancelled', reason: 'Cancelled.' });
    expect(Date.now() - began).toBeLessThan(8000);
    expect(alive(pid)).toBe(false);
  });

  test('is cancelled in the middle of a wait at once', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'wait 300; write late.txt x' });
    await until('the wait', () => run.lines().some((line) => line.type === 'tool' && line.title === 'wait 300 s'));
    run.command({ id: 'c1', type: 'cancel' });
    expect(await run.ended(runner)).toMatchObject({ outcome: 'cancelled' });
    expect(readdirSync(run.workspace)).toEqual([]);
  });

  test('is cancelled by SIGTERM, also while a question is open', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'ask Anyone?' });
    await run.line('question');
    runner.kill('SIGTERM');
    expect(await run.ended(runner)).toMatchObject({
      outcome: 'cancelled',
      reason: 'The container was stopped (SIGTERM).',
    });
  });

  test('hides secrets and takes terminal escapes out, wherever the agent puts them', async () => {
    const run = newRun();
    const key = `ghp_${'x'.repeat(36)}`;
    const ended = await run.ended(
      run.start(
        {
          prompt: `say \u001b[31m${key}\u001b[0m; run echo $PRACTICE_KEY $MY_SECRET \\; printf "\\\\033[2Jx"; fail with ${key}`,
        },
        { env: { MY_SECRET: 'a secret of the host' } },
      ),
    );
    const all = readFileSync(join(run.folder, 'log.ndjson'), 'utf8');
    expect(all).not.toContain(key);
    expect(all).not.toMatch(/sk-fetch-|a secret of the host|\\u001b/);
    expect(ended.reason).toContain('with [hidden]');
    expect(run.lines().find((line) => line.type === 'tool' && line.status === 'completed')).toMatchObject({
      detail: expect.stringContaining('[hidden] [hidden]'),
    });
  });
});

describe('a run over several steps', () => {
  const session = (run: Run) =>
    (run.lines().find((line) => line.type === 'session') as { sessionId: string }).sessionId;

  test('is stopped while a permission waits, and its session asks again in the next run', async () => {
    const run = newRun();
    const prompt = 'append a.txt one; allow? touch yes; append a.txt two';
    const stopped = run.start({ prompt });
    await run.line('permission');
    run.command({ id: 'c1', type: 'cancel' });
    expect(await run.ended(stopped)).toMatchObject({ outcome: 'cancelled' });
    expect(readdirSync(run.workspace)).toEqual(['a.txt']);
    const again = run.start({ prompt, sessionId: session(run) });
    const asked = await run.line('permission', 2);
    run.command({ id: 'c2', type: 'permit', permissionId: asked.id, decision: 'allow' });
    expect(await run.ended(again)).toMatchObject({ outcome: 'completed' });
    expect([run.read('a.txt'), readdirSync(run.workspace)]).toEqual(['one\ntwo\n', ['a.txt', 'yes']]);
  });

  test('parks a question that waits too long, and goes on with the answer in the next step', async () => {
    const run = newRun();
    expect(
      await run.ended(run.start({ prompt: 'append a.txt one; ask Go on?; append a.txt {answer}', holdMs: 200 })),
    ).toMatchObject({ outcome: 'parked' });
    expect(run.lines().some((line) => line.type === 'settled')).toBe(false);
    expect(await run.ended(run.start({ prompt: 'yes, do', sessionId: session(run) }))).toMatchObject({
      outcome: 'completed',
    });
    expect(run.read('a.txt')).toBe('one\nyes, do\n');
    expect(run.lines().find((line) => line.type === 'session' && line.step === 2)).toMatchObject({ resumed: true });
    // what the agent replays of its history is not said twice
    expect(run.text()).not.toContain('(before:');
  });

  test('parks a permission, and a decision that came meanwhile is not asked for again', async () => {
    const run = newRun();
    const goal = 'allow? touch yes';
    expect(await run.ended(run.start({ prompt: goal, holdMs: 200 }))).toMatchObject({ outcome: 'parked' });
    const asked = await run.line('permission');
    appendFileSync(
      join(run.folder, 'commands.ndjson'),
      `${JSON.stringify({ id: 'c1', step: 2, type: 'permit', permissionId: asked.id, decision: 'allow' })}\n`,
    );
    expect(await run.ended(run.start({ prompt: goal, sessionId: session(run) }))).toMatchObject({
      outcome: 'completed',
    });
    expect(readdirSync(run.workspace)).toEqual(['yes']);
    expect(run.lines().filter((line) => line.type === 'permission')).toHaveLength(1);
  });

  test('says when the agent was killed, and the next step goes on where it was', async () => {
    const run = newRun();
    const goal = 'append a.txt one; wait 30; append a.txt two';
    const runner = run.start({ prompt: goal });
    await until('the wait', () =>
      run.lines().some((line) => line.type === 'tool' && /^\d+ of 30 s$/.test(line.detail ?? '')),
    );
    for (const pid of childrenOf(runner.pid!)) process.kill(pid, 'SIGKILL');
    expect(await run.ended(runner)).toMatchObject({
      outcome: 'failed',
      reason: 'The agent was ended by SIGKILL before its turn was over.',
    });
    const file = join(run.folder, 'home', '.practice', `${session(run)}.json`);
    // the rest of the wait is taken as over: what counts is that nothing before it is done again
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"elapsed":\d+/, '"elapsed":29.5'));
    expect(await run.ended(run.start({ prompt: goal, sessionId: session(run) }))).toMatchObject({
      outcome: 'completed',
    });
    expect(run.read('a.txt')).toBe('one\ntwo\n');
  });

  test('goes on after SIGKILL of the runner, with a torn line in its log', async () => {
    const run = newRun();
    const goal = 'append a.txt one; wait 5; append a.txt two';
    const runner = run.start({ prompt: goal });
    await until('the wait', () =>
      run.lines().some((line) => line.type === 'tool' && /^\d of 5 s$/.test(line.detail ?? '')),
    );
    const agents = childrenOf(runner.pid!);
    runner.kill('SIGKILL');
    await until('the end', () => runner.signalCode);
    // the walls of the container take everything in it along
    for (const pid of agents) process.kill(pid, 'SIGKILL');
    appendFileSync(join(run.folder, 'log.ndjson'), '{"seq":99,"at":"20');
    expect(run.lines().some((line) => line.type === 'ended')).toBe(false);
    expect(await run.ended(run.start({ prompt: goal, sessionId: session(run) }))).toMatchObject({
      outcome: 'completed',
      step: 2,
    });
    expect(run.read('a.txt')).toBe('one\ntwo\n');
  });

  test('does not repeat an append whose effect is there, when the agent was killed before it could say so', async () => {
    const run = newRun();
    expect(await run.ended(run.start({ prompt: 'append a.txt one; fail here' }))).toMatchObject({ outcome: 'failed' });
    const file = join(run.folder, 'home', '.practice', `${session(run)}.json`);
    const state = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(
      file,
      JSON.stringify({ ...state, clauses: ['append a.txt one', 'say end'], done: 0, begun: { size: 0 } }),
    );
    expect(await run.ended(run.start({ prompt: state.goal, sessionId: session(run) }))).toMatchObject({
      outcome: 'completed',
    });
    expect(run.read('a.txt')).toBe('one\n');
  });

  test('fails clearly when the session is not there', async () => {
    const run = newRun();
    const ended = await run.ended(run.start({ prompt: 'go on', sessionId: 'practice-gone' }));
    expect(ended).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('The session could not be resumed'),
    });
  });
});

describe('a host whose process is gone', () => {
  /** The host's side of the way out. */
  async function host(run: Run): Promise<Server> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(run.folder, 'gate', 'model.sock'), resolve));
    return server;
  }
  const gone = (server: Server) => new Promise((resolve) => server.close(resolve));
  /** everything that the runner has started, stopped in its tracks */
  const still = (runner: ChildProcess) =>
    childrenOf(runner.pid!).length > 0 &&
    childrenOf(runner.pid!).every((pid) => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
  const waits = (run: Run) =>
    until('the wait', () => run.lines().some((line) => line.type === 'tool' && line.title.startsWith('wait')));

  test('holds its agent still before another host may go on with the task, and lets it go on when it is there again', async () => {
    const run = newRun();
    const before = await host(run);
    const runner = run.start({
      prompt: 'append a.txt one; wait 2; append a.txt two',
      permissions: 'run',
      freezeAfterMs: 600,
    });
    await waits(run);
    await gone(before);
    await until('it is held', () => still(runner));
    // longer than what the agent still had to wait
    const passed = Date.now() + 2_500;
    await until('its time has passed', () => Date.now() > passed);
    expect([still(runner), run.read('a.txt'), runner.exitCode]).toEqual([true, 'one\n', null]);
    const after = await host(run);
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    expect(run.read('a.txt')).toBe('one\ntwo\n');
    await gone(after);
  });

  test('is waited for as long as a restart takes', async () => {
    const run = newRun();
    const before = await host(run);
    const runner = run.start({ prompt: 'wait 2; append a.txt one', permissions: 'run', freezeAfterMs: 60_000 });
    await waits(run);
    await gone(before);
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
  });

  test('has lost the task when a later step has begun: the container ends, and leaves the log alone', async () => {
    const run = newRun();
    const runner = run.start({ prompt: 'wait 30; append a.txt one', permissions: 'run' });
    await waits(run);
    const lines = run.lines().length;
    appendFileSync(
      join(run.folder, 'commands.ndjson'),
      `${JSON.stringify({ id: 'later', step: 2, type: 'begin', token: 'of-another' })}\n`,
    );
    await until('it has ended', () => runner.exitCode !== null);
    expect([
      runner.exitCode,
      run
        .lines()
        .slice(lines)
        .filter((line) => line.type === 'ended'),
    ]).toEqual([1, []]);
  });
});

describe('the way out', () => {
  test('holds a connection until the gate is there', async () => {
    const run = newRun();
    writeFileSync(
      join(run.workspace, 'call.cjs'),
      `const request = require('http').get(process.env.PRACTICE_MODEL_URL, (response) => response.pipe(process.stdout));
       request.on('socket', (socket) => socket.on('connect', () => require('fs').writeFileSync('connected', '')));`,
    );
    const runner = run.start({ prompt: 'run node call.cjs' });
    await until('the connection', () => existsSync(join(run.workspace, 'connected')));
    const gate: Server = createServer((_request, response) => response.end('from the gate'));
    await new Promise<void>((done) => gate.listen(join(run.folder, 'gate', 'model.sock'), done));
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    gate.close();
    expect(run.lines().find((line) => line.type === 'tool' && line.status === 'completed')).toMatchObject({
      detail: expect.stringContaining('from the gate'),
    });
  });
});

/** The beginning of an agent of its own: answers initialize, session/new and passes everything else to `on`. */
const agent = (on: string) => `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const update = (update) => send({ method: 'session/update', params: { sessionId: 's1', update } });
const on = ${on};
let rest = '';
process.stdin.on('data', (data) => {
  rest += data;
  for (let end = rest.indexOf('\\n'); end >= 0; end = rest.indexOf('\\n')) {
    const message = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    if (message.method === 'initialize') send({ id: message.id, result: { protocolVersion: 1 } });
    else if (message.method === 'session/new') send({ id: message.id, result: { sessionId: 's1' } });
    else on(message);
  }
});`;

describe.skipIf(process.getuid?.() !== 0)('a disk without room', () => {
  test('ends the step with its last line, and no line is torn', async () => {
    const run = newRun();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', run.folder]);
    try {
      mkdirSync(run.workspace);
      const ended = await run.ended(
        run.start({ prompt: `${'say 0123456789; '.repeat(20)}run yes | head -c 30000000; say end` }),
      );
      expect(ended.outcome).toBe('completed');
      const flood = agent(`(message) => {
        if (message.method === 'session/prompt') setInterval(() => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'word '.repeat(2000) } }), 1);
      }`);
      expect(await run.ended(run.start({ prompt: 'x' }, { agent: flood }))).toMatchObject({
        outcome: 'failed',
        reason: 'No room is left on the disk of the run folder.',
      });
    } finally {
      execFileSync('umount', ['--lazy', run.folder]);
    }
  });

  test('ends an agent that falls silent because of it', async () => {
    const run = newRun();
    // a runner that has less than a megabyte from its beginning
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', run.folder]);
    try {
      mkdirSync(run.workspace);
      expect(await run.ended(run.start({ prompt: 'x' }, { agent: agent('() => undefined') }), 60_000)).toMatchObject({
        outcome: 'failed',
        reason: 'No room is left on the disk of the run folder.',
      });
    } finally {
      execFileSync('umount', ['--lazy', run.folder]);
    }
  });
});

describe('an agent that has lost its session', () => {
  const forgetful = agent(`(message) => {
    if (message.method === 'session/load') send({ id: message.id, error: { code: -32002, message: 'Session not found' } });
    else if (message.method === 'session/prompt') {
      update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: message.params.prompt[0].text } });
      send({ id: message.id, result: { stopReason: 'end_turn' } });
    }
  }`);

  test('begins again with the prompt for that', async () => {
    const run = newRun();
    const ended = await run.ended(
      run.start({ prompt: 'Go on.', restartPrompt: 'From the start.', sessionId: 's0' }, { agent: forgetful }),
    );
    expect(ended.outcome).toBe('completed');
    expect(run.text()).toBe('From the start.');
    expect(await run.line('session')).toMatchObject({ sessionId: 's1', resumed: false });
    expect((await run.line('note')).text).toContain('Session not found');
  });

  test('fails, and says why, when there is none', async () => {
    const run = newRun();
    const ended = await run.ended(run.start({ prompt: 'Go on.', sessionId: 's0' }, { agent: forgetful }));
    expect(ended).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('Session not found') });
  });
});

describe('an agent that misbehaves', () => {
  test.each([
    ['is not there', undefined, /could not be started|ended with code/],
    ['ends at once', 'process.exit(3)', /The agent ended with code 3/],
    ['closes its output', `require('fs').closeSync(1); setInterval(() => {}, 1000)`, /closed its output/],
    [
      'writes garbage',
      `const more = () => process.stdout.write('garbage '.repeat(1000) + '\\n', more); more()`,
      /not its protocol/,
    ],
    [
      'writes one endless line',
      `const more = () => process.stdout.write('{'.repeat(1 << 20), more); more()`,
      /line of more than 16 MB/,
    ],
    [
      'refuses the session',
      agent(`() => {}`).replace(
        `result: { sessionId: 's1' }`,
        `error: { code: -32000, message: 'Authentication required' }`,
      ),
      /Authentication required/,
    ],
    [
      'sends requests and takes no answers',
      agent(
        `(m) => { for (let n = 0; n < 5000; n++) send({ id: 'r' + n, method: 'fs/read', params: {} }); process.stdin.pause(); }`,
      ),
      /more requests/,
    ],
  ])('that %s ends the step with one clear sentence', async (_what, program, reason) => {
    const run = newRun();
    const ended = await run.ended(
      run.start(
        { prompt: 'x' },
        { agent: program ?? '', ...(program === undefined && { env: { FETCH_AGENT: '/nowhere' } }) },
      ),
      60_000,
    );
    expect(ended.outcome).toBe('failed');
    expect(ended.reason).toMatch(reason);
    expect(run.peak).toBeLessThan(300);
  });

  test('writes a gigabyte to stderr and goes on', async () => {
    const run = newRun();
    const program = agent(`(message) => {
      if (message.method !== 'session/prompt') return;
      const chunk = Buffer.alloc(1 << 20, 'noise ');
      let n = 0;
      const more = () => { if (n++ < 1024) process.stderr.write(chunk, more); else { process.stderr.write('the last words'); send({ id: message.id, error: { code: -1, message: 'tired' } }); } };
      more();
    }`);
    const ended = await run.ended(run.start({ prompt: 'x' }, { agent: program }), 60_000);
    expect(ended).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('tired') });
    expect(run.lines().find((line) => line.type === 'note')).toMatchObject({
      text: expect.stringContaining('the last words'),
    });
    expect(run.peak).toBeLessThan(300);
  });

  test('says a quarter of a gigabyte: the words are dropped beyond the limit, and memory stays', async () => {
    const run = newRun();
    const program = agent(`(message) => {
      if (message.method !== 'session/prompt') return;
      const text = 'word '.repeat(20000);
      let n = 0;
      const more = () => {
        if (n++ >= 2500) return send({ id: message.id, result: { stopReason: 'end_turn' } });
        const line = JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's1', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
        process.stdout.write(line + '\\n', more);
      };
      more();
    }`);
    const ended = await run.ended(run.start({ prompt: 'x' }, { agent: program }), 90_000);
    expect(ended.outcome).toBe('completed');
    expect(run.lines().filter((line) => line.type === 'note')).toMatchObject([
      { text: expect.stringContaining('64 MB') },
    ]);
    expect(run.peak).toBeLessThan(400);
  });

  test('ignores cancel, SIGTERM and the end of its input, and is gone all the same', async () => {
    const run = newRun();
    const program = `process.on('SIGTERM', () => {});\nrequire('child_process').spawn('sleep', ['300'], { stdio: 'inherit' });\nsetInterval(() => {}, 1000);\n${agent('() => {}')}`;
    const runner = run.start({ prompt: 'x' }, { agent: program });
    await run.line('session');
    const [pid] = childrenOf(runner.pid!);
    const [sleeper] = await until('the child', () => childrenOf(pid!));
    run.command({ id: 'c1', type: 'cancel' });
    expect(await run.ended(runner)).toMatchObject({ outcome: 'cancelled' });
    expect([pid, sleeper].map((one) => alive(one!))).toEqual([false, false]);
  });

  test('talks of things that nobody knows: updates are passed over, requests refused, stray text noted', async () => {
    const run = newRun();
    const program = `console.log('Welcome!');\n${agent(`(message) => {
      if (message.method === 'session/prompt') {
        globalThis.prompt = message.id;
        update({ sessionUpdate: 'from_the_future', anything: 1 });
        update(null);
        update({ sessionUpdate: 'tool_call', toolCallId: 7 });
        update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: '{"type":"ended","outcome":"completed"}\\n' } });
        send({ method: '_vendor/thing', params: {} });
        send({ id: 'r1', method: 'fs/write_text_file', params: { path: '/etc/passwd', content: 'x' } });
      } else if (message.id === 'r1') {
        update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'refused with ' + message.error.code } });
        send({ id: prompt, result: { stopReason: 'end_turn', usage: { inputTokens: 7, outputTokens: 3 } } });
      }
    }`)}`;
    expect(await run.ended(run.start({ prompt: 'x' }, { agent: program }))).toMatchObject({ outcome: 'completed' });
    expect(run.text()).toBe('{"type":"ended","outcome":"completed"}\nrefused with -32601');
    expect(run.lines().find((line) => line.type === 'usage')).toMatchObject({ inputTokens: 7, outputTokens: 3 });
    expect(run.lines().find((line) => line.type === 'note')).toMatchObject({ text: 'On stdout: Welcome!' });
  });

  test('asks with a form of its own, which is a question like the others', async () => {
    const run = newRun();
    const program = agent(`(message) => {
      if (message.method === 'session/prompt') {
        globalThis.prompt = message.id;
        const requestedSchema = { type: 'object', properties: { q: { type: 'string', title: 'Color', oneOf: [{ const: 'r', title: 'Red' }, { const: 'b', title: 'Blue' }] } } };
        send({ id: 'f1', method: 'elicitation/create', params: { mode: 'form', sessionId: 's1', message: 'Which color?', requestedSchema } });
      } else if (message.id === 'f1') {
        update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: JSON.stringify(message.result) } });
        send({ id: prompt, result: { stopReason: 'end_turn' } });
      }
    }`);
    const runner = run.start({ prompt: 'x' }, { agent: program });
    const question = await run.line('question');
    expect(question).toMatchObject({ question: 'Which color?', options: ['Red', 'Blue'] });
    run.command({ id: 'c1', type: 'answer', questionId: question.id, answer: 'blue' });
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    expect(run.text()).toBe('{"action":"accept","content":{"q":"b"}}');
  });

  test('keeps an answer for a call of ask_human whose connection it broke', async () => {
    const run = newRun();
    const program = agent(`async (message) => {
      if (message.method !== 'session/prompt') return;
      const call = (signal) => fetch(globalThis.server.url, { method: 'POST', signal,
        headers: { 'content-type': 'application/json', authorization: globalThis.server.headers[0].value },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question: 'Which?' }, _meta: { progressToken: 'p' } } }) });
      const other = (headers, method, body) => fetch(globalThis.server.url, { method, headers, body }).then((response) => response.status);
      const own = { authorization: globalThis.server.headers[0].value };
      const statuses = [await other({}, 'POST', '{}'), await other(own, 'GET'), await other(own, 'POST', 'x'), await other(own, 'POST', '{"jsonrpc":"2.0","method":"x"}')];
      const unknown = await (await fetch(globalThis.server.url, { method: 'POST', headers: own, body: '{"jsonrpc":"2.0","id":5,"method":"server/discover"}' })).json();
      const broken = new AbortController();
      const first = await call(broken.signal);
      const head = new TextDecoder().decode((await first.body.getReader().read()).value);
      broken.abort();
      await other(own, 'GET');
      const again = new Promise((done) => require('fs').watch('.', (event, name) => name === 'again' && done()));
      require('fs').writeFileSync('broken', '');
      await again;
      const text = await (await call()).text();
      update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: JSON.stringify({ statuses, code: unknown.error.code, head: head.includes('notifications/progress'), heard: text.includes('"text":"this one"') }) } });
      send({ id: message.id, result: { stopReason: 'end_turn' } });
    }`).replace(
      `else if (message.method === 'session/new')`,
      `else if (message.method === 'session/new' && (globalThis.server = message.params.mcpServers[0]))`,
    );
    const runner = run.start({ prompt: 'x' }, { agent: program });
    const question = await run.line('question');
    await until('the broken connection', () => existsSync(join(run.workspace, 'broken')));
    run.command({ id: 'c1', type: 'answer', questionId: question.id, answer: 'this one' });
    await run.line('settled');
    writeFileSync(join(run.workspace, 'again'), '');
    expect(await run.ended(runner)).toMatchObject({ outcome: 'completed' });
    expect(JSON.parse(run.text())).toEqual({ statuses: [401, 405, 400, 202], code: -32601, head: true, heard: true });
    expect(run.lines().filter((line) => line.type === 'question')).toHaveLength(1);
  });
});
