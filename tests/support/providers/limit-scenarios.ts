import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RoleName } from '../../../src/cli/instance/home/state-file.ts';
import { NO_DOCKER } from '../docker.ts';
import { containersOf, findTask, linesOf } from '../kennel-app.ts';
import { until } from '../until.ts';
import { type AgentTasks, startAgentTasks } from './agent-tasks.ts';
import { type Differences, LIMIT, write } from './scenarios.ts';
import type { LimitWindow } from './usage-limits.ts';

/** Longer than what is left to the agent, also after the time that it gets to end by itself. */
const NAMED_MS = 100_000;
/** Ends between the third and the fourth time that the model is asked. */
const UNNAMED_MS = 40_000;
/** Longest time from the end of a limit to the answer. */
const RESUMES_MS = 60_000;

const kinds: Array<[title: string, window: LimitWindow, forMs: number]> = [
  ['at a limit whose end a header names', 'header', NAMED_MS],
  ['at the limit of its five hours', 'five hours', NAMED_MS],
  ['at the limit of its week', 'week', NAMED_MS],
  ['overloaded, and names no time', 'overload', UNNAMED_MS],
  ['at a limit, and gives no hint', 'no hint', UNNAMED_MS],
];

/** The same limits for each agent, as its service tells of them, while the workers are killed. */
export function limitScenarios(agent: Differences): void {
  let at: AgentTasks;

  beforeAll(async () => {
    if (NO_DOCKER) return;
    at = await startAgentTasks(agent);
  }, 900_000);
  afterAll(() => at?.close());

  const killWorkers = async (): Promise<void> => {
    const pidOf = (role: RoleName) => at.app.state().roles.find(({ name }) => name === role)?.pid;
    const killed = (['kennel', 'worker'] as const).map((role) => ({ role, pid: at.app.kill(role) }));
    await until('they are started again', () => killed.every(({ role, pid }) => (pidOf(role) ?? pid) !== pid));
    await at.app.whenReady();
  };

  /** The model is asked for the second file until it answers: when it refused, and when it answered. */
  const asked = (goal: string) => {
    const requests = at.providers.requests().filter(({ step, user }) => step === 1 && user.includes(goal));
    return {
      refused: requests.filter(({ status }) => status !== 200),
      answered: requests.find(({ status }) => status === 200),
    };
  };

  describe.skipIf(NO_DOCKER)(`${agent.name} at a limit of its model`, () => {
    it.each(kinds)(
      'sleeps while its model is %s, and goes on in its session although the workers are killed',
      async (_, window, forMs) => {
        const limit = { of: agent.name, window, forMs };
        const { path, thread, id, goal, heard } = await at.begin(
          `limit-${window.replace(' ', '-')}`,
          write('one.txt', 'one\n'),
          { limit, ...write('two.txt', 'two\n') },
          { say: 'All done.' },
        );
        const refusedAt = await until('its model refuses', () => asked(goal).refused[0]?.at, LIMIT);
        if (forMs === NAMED_MS)
          await until(
            'it waits without a container',
            async () => (await findTask(at.app, id)).state === 'waiting' && containersOf(id).length === 0,
            LIMIT,
          );
        await killWorkers();
        await killWorkers();
        const task = await at.over(id, thread, 8);
        expect(task.state, task.reason ?? '').toBe('completed');

        const { refused, answered } = asked(goal);
        const lateMs = answered!.at - refusedAt - forMs;
        expect(lateMs).toBeGreaterThanOrEqual(0);
        expect(lateMs).toBeLessThan(RESUMES_MS);
        // an end that is known is waited for without asking
        if (forMs === NAMED_MS) expect(refused).toHaveLength(1);

        // no step that was finished is done again
        expect(task.result?.changes?.files.map((file) => file.path).sort()).toEqual(['one.txt', 'two.txt']);
        expect(readFileSync(join(path, 'two.txt'), 'utf8')).toBe('two\n');
        expect(heard(0).trim()).toBe('');
        const first = at.providers.requests().filter((entry) => entry.step === 0 && entry.user.includes(goal));
        expect(first.length).toBeLessThanOrEqual(1 + agent.sideQuestions);

        const sessions = (await linesOf(at.app, id)).flatMap((line) => (line.type === 'session' ? [line] : []));
        expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(1);
        expect(sessions.map(({ resumed }) => resumed)).toEqual(sessions.map((_, run) => run > 0));

        const told = (await at.app.detail(thread)).items.filter(
          ({ detail }) => detail?.startsWith('The agent in ') && detail.includes(' waits: '),
        );
        expect(told.length).toBeLessThanOrEqual(1);
        if (forMs === NAMED_MS) expect(told).toHaveLength(1);
        console.log(
          `| ${agent.name} | ${window} | ${refused.length} | ${sessions.length} | ${(lateMs / 1_000).toFixed(1)} |`,
        );
      },
      900_000,
    );
  });
}
