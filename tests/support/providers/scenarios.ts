import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelAgentName } from '../../../kennel/agents/registry.ts';
import { NO_DOCKER, requireDocker, startTestKennel, type TestKennel } from '../docker.ts';
import { IS_ROOT } from '../other-user.ts';
import { until } from '../until.ts';
import { AgentRun, type RunSettings } from './agent-run.ts';
import type { Protocol } from './asked.ts';
import { PROVIDER_KEY } from './gate.ts';
import { type AgentStep, script } from './script.ts';
import { semaphore } from './semaphore.ts';
import type { ProviderEntry } from './server.ts';

/** What one coding agent does differently from the others. */
export interface Differences {
  name: ModelAgentName;
  model: string | null;
  protocol: Protocol;
  /** model calls of its own beside the work, in a run of one prompt: titles */
  sideQuestions: number;
  /** after a refusal the model hears of it and goes on, or the agent ends its turn */
  refused: 'goes on' | 'ends its turn';
  /**
   * how its last line tells of a model that refuses the key, that wants it to slow down, that fails, and whose answer
   * breaks off
   */
  reasons: { unauthorized: RegExp; limited: RegExp; failing: RegExp; cut: RegExp };
  /** model calls until it gives up on a failing model, with one retry allowed where that can be said */
  attempts: { unauthorized: number; limited: number; failing: number; cut: number };
}

const WORKSPACE = '/workspace';
export const LIMIT = 240_000;
/** two at a time: an agent takes a processor while it starts */
const SLOTS = 2;

export const write = (name: string, text: string): AgentStep => ({
  do: [['write', { path: `${WORKSPACE}/${name}`, text }]],
});
export const shell = (command: string): AgentStep => ({ do: [['shell', { command }]] });
/** Takes the room that a folder has, to the last byte. */
export const fillingUp = (folder: string): string =>
  `head -c 8G /dev/zero > "${folder}/filling"; echo "head ended with $?"`;
const FULL = /No space left on device[\s\S]*head ended with 1/;
const long = shell('touch begun; sleep 300');
/** no words twice: agents take repetition for a loop */
const counting = Array.from({ length: 60 }, (_, at) => `Line ${at} of ${at * 7919}.`).join('\n');

/**
 * The same scenarios for each agent: the real CLI, in its image, driven by the runner, against the scripted providers.
 */
export function agentScenarios(agent: Differences): void {
  const { name } = agent;
  let at: TestKennel;
  const slots = semaphore(SLOTS);

  beforeAll(async () => {
    if (NO_DOCKER) return;
    await requireDocker(name);
    at = await startTestKennel({ FETCH_KENNEL_MEMORY_MB: '3072', FETCH_KENNEL_SLOTS: '8' });
  }, 900_000);
  afterAll(() => at?.close());

  const scenario = (title: string, work: (run: AgentRun) => Promise<void>, settings: RunSettings = {}): void =>
    it.concurrent(
      title,
      () =>
        slots(async () => {
          const run = await AgentRun.open(at, name, { model: agent.model, ...settings });
          try {
            await work(run);
          } finally {
            await run.close();
          }
        }),
      900_000,
    );

  const fails = async (run: AgentRun, step: AgentStep, reason: RegExp, attempts: number): Promise<void> => {
    await run.begin(script(step));
    const ended = await run.ended(LIMIT);
    expect(ended).toMatchObject({ outcome: 'failed', reason: expect.stringMatching(reason) });
    expect(run.asked().length).toBe(attempts);
  };

  describe.skipIf(NO_DOCKER)(`${name} in its container`, () => {
    scenario('edits a file, runs a command and finishes', async (run) => {
      await run.begin(
        script(write('hello.txt', 'hello\n'), shell('cat hello.txt; id -u; env | sort'), { say: 'All done.' }),
      );
      const ended = await run.ended(LIMIT);
      expect(ended.outcome, ended.reason).toBe('completed');
      expect(run.read('hello.txt')).toBe('hello\n');
      expect(run.said()).toBe('All done.');
      const [first, second, third] = run.asked();
      expect(first).toMatchObject({
        protocol: agent.protocol,
        step: 0,
        ...(agent.model ? { model: agent.model } : {}),
      });
      expect(second!.last + third!.last).toContain('hello');
      // the gate has the key, and nothing inside
      for (const entry of run.providers.requests()) expect(entry.key).toBe(PROVIDER_KEY);
      expect(third!.last).toContain('HOME=/run/fetch/home');
      expect(third!.last).not.toContain(PROVIDER_KEY);
      expect(run.providers.requests().length - run.asked().length).toBe(agent.sideQuestions);
      const started = run.lines().find((line) => line.type === 'started');
      expect(started).toMatchObject({ harness: name, version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
      expect(run.lines().some((line) => line.type === 'usage' && line.inputTokens > 0)).toBe(true);
      expect(await run.gate.used()).toEqual(total(run.providers.requests()));
      // OpenCode looks for plug-ins in the registry of npm, in vain; nothing else is looked for outside
      expect((await run.gate.refused()).filter((target) => !target.startsWith('registry.'))).toEqual([]);
    });

    scenario('asks the person and goes on with the answer', async (run) => {
      await run.begin(
        script(
          { do: [['ask', { question: 'Which colour?', options: ['red', 'blue'] }]] },
          { say: 'The answer: $LAST' },
        ),
      );
      const question = await run.line('question', undefined, LIMIT);
      expect(question).toMatchObject({ question: 'Which colour?', options: ['red', 'blue'] });
      run.command({ type: 'answer', questionId: question.id, answer: 'blue' });
      expect((await run.ended(LIMIT)).outcome).toBe('completed');
      expect(run.said()).toMatch(/^The answer: [\s\S]*blue/);
    });

    scenario(
      'asks for leave before it edits and runs, and then does it',
      async (run) => {
        await run.begin(script(write('made.txt', 'x\n'), shell('mv made.txt moved.txt'), { say: 'All done.' }));
        const edit = await run.line('permission', undefined, LIMIT);
        expect(run.files()).toEqual([]);
        expect(edit.diff ?? edit.command).toContain('x');
        run.command({ type: 'permit', permissionId: edit.id, decision: 'allow' });
        const command = await run.line('permission', ({ id }) => id !== edit.id, LIMIT);
        expect(command.command).toContain('mv made.txt moved.txt');
        expect(run.files()).toEqual(['made.txt']);
        run.command({ type: 'permit', permissionId: command.id, decision: 'allow' });
        expect((await run.ended(LIMIT)).outcome).toBe('completed');
        expect(run.files()).toEqual(['moved.txt']);
      },
      { permissions: 'ask' },
    );

    scenario(
      `leaves it when leave is refused, and ${agent.refused}`,
      async (run) => {
        await run.begin(script(write('made.txt', 'x\n'), { say: 'Then not.' }));
        const edit = await run.line('permission', undefined, LIMIT);
        run.command({ type: 'permit', permissionId: edit.id, decision: 'deny' });
        expect((await run.ended(LIMIT)).outcome).toBe('completed');
        expect(run.files()).toEqual([]);
        expect(run.said()).toBe(agent.refused === 'goes on' ? 'Then not.' : '');
      },
      { permissions: 'ask' },
    );

    scenario(
      'asks the person without asking for leave to ask',
      async (run) => {
        await run.begin(script({ do: [['ask', { question: 'Which colour?' }]] }, { say: 'Thanks.' }));
        const question = await run.line('question', undefined, LIMIT);
        run.command({ type: 'answer', questionId: question.id, answer: 'blue' });
        expect((await run.ended(LIMIT)).outcome).toBe('completed');
        expect(run.lines().filter((line) => line.type === 'permission')).toEqual([]);
      },
      { permissions: 'ask' },
    );

    scenario('stops a long command when it is cancelled, and leaves no process', async (run) => {
      await run.begin(script(long, { say: 'Too late.' }));
      await until('the command runs', () => run.files().includes('begun'), LIMIT);
      run.command({ type: 'cancel' });
      const asked = Date.now();
      expect((await run.ended(LIMIT)).outcome).toBe('cancelled');
      await run.stopped();
      expect(Date.now() - asked).toBeLessThan(30_000);
      expect(await run.processes()).toEqual([]);
      expect(run.said()).toBe('');
    });

    scenario('says so when the model refuses the key', (run) =>
      fails(run, { fail: 401 }, agent.reasons.unauthorized, agent.attempts.unauthorized),
    );

    scenario('gives up, and says so, when the model keeps asking to slow down', (run) =>
      fails(run, { fail: 429, retryAfter: 1 }, agent.reasons.limited, agent.attempts.limited),
    );

    scenario('gives up, and says so, when the model keeps failing', (run) =>
      fails(run, { fail: 500, retryAfter: 1 }, agent.reasons.failing, agent.attempts.failing),
    );

    scenario('does not take an answer that breaks off for a whole one', (run) =>
      fails(run, { say: counting, cut: true }, agent.reasons.cut, agent.attempts.cut),
    );

    scenario('can be cancelled while the model does not answer at all', async (run) => {
      await run.begin(script({ hang: true }));
      await until('the model is asked', () => run.asked().length > 0, LIMIT);
      run.command({ type: 'cancel' });
      expect((await run.ended(LIMIT)).outcome).toBe('cancelled');
      await run.stopped();
    });

    scenario('is reported when it is killed', async (run) => {
      await run.begin(script(long));
      await until('the command runs', () => run.files().includes('begun'), LIMIT);
      // the first process below the runner, and what it has started itself
      await run.inside('pkill', '-KILL', '-f', '/opt/agent/');
      expect(await run.ended(LIMIT)).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('SIGKILL') });
      await run.stopped();
      expect(await run.processes()).toEqual([]);
    });

    // its session, its settings and its log are on that disk as well
    if (IS_ROOT)
      scenario(
        'comes to a clear end when its disk is full, with every line of its log whole',
        async (run) => {
          await run.begin(script(shell(fillingUp('$HOME')), { say: '$LAST' }));
          const ended = await run.ended(LIMIT);
          await run.stopped();
          if (ended.outcome === 'completed') expect(run.said()).toMatch(FULL);
          else
            expect(ended).toMatchObject({
              outcome: 'failed',
              reason: expect.stringMatching(/^No room is left on the disk/),
            });
          const lines = run.lines();
          expect(lines.map((line) => line.seq)).toEqual(lines.map((_, at) => at + 1));
          expect(lines.filter((line) => line.type === 'ended')).toHaveLength(1);
          expect(await run.processes()).toEqual([]);
        },
        { diskMb: 512 },
      );

    scenario('goes on with its session in a new container after the runner was killed', async (run) => {
      await run.begin(script(write('one.txt', 'one\n'), long));
      await until('the command runs', () => run.files().includes('begun'), LIMIT);
      const { sessionId } = await run.line('session');
      await run.inside('pkill', '-KILL', '-f', 'runner/main.ts');
      await run.stopped();
      expect(run.lines().at(-1)!.type).not.toBe('ended');
      const before = run.asked().length;
      await run.begin(script(write('two.txt', 'two\n'), { say: 'Resumed.' }), { sessionId });
      const ended = await run.ended(LIMIT);
      expect(ended.outcome, ended.reason).toBe('completed');
      expect(run.lines().find((line) => line.type === 'session')).toMatchObject({ sessionId, resumed: true });
      expect(run.files()).toEqual(['begun', 'one.txt', 'two.txt']);
      expect(run.said()).toBe('Resumed.');
      // the model is shown what was asked before, and nothing of it is logged again
      expect(JSON.stringify(run.providers.body(run.asked()[before]!.n))).toContain('one.txt');
      expect(run.lines().some((line) => line.type === 'tool' && line.paths?.includes('one.txt'))).toBe(false);
    });

    scenario('begins again when its session is lost', async (run) => {
      await run.begin(script(write('one.txt', 'one\n'), { say: 'Done.' }));
      expect((await run.ended(LIMIT)).outcome).toBe('completed');
      const { sessionId } = await run.line('session');
      rmSync(join(run.folder, 'home'), { recursive: true });
      await run.begin('Go on.', {
        sessionId,
        restartPrompt: script(write('two.txt', 'two\n'), { say: 'Begun again.' }),
      });
      const ended = await run.ended(LIMIT);
      expect(ended.outcome, ended.reason).toBe('completed');
      expect(await run.line('session')).toMatchObject({ resumed: false });
      expect(run.files()).toEqual(['one.txt', 'two.txt']);
      expect(run.said()).toBe('Begun again.');
    });
  });
}

const total = (entries: readonly ProviderEntry[]) => ({
  calls: entries.length,
  inputTokens: entries.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0),
  outputTokens: entries.reduce((sum, { usage }) => sum + (usage?.outputTokens ?? 0), 0),
});
