import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSessionAgent } from '../../../src/domain/tasks/session-text.ts';
import type { TestApp } from '../app.ts';
import { NO_DOCKER } from '../docker.ts';
import { containersOf, findTask, inState, linesOf, report } from '../kennel-app.ts';
import { until } from '../until.ts';
import { type AgentTasks, startAgentTasks } from './agent-tasks.ts';
import { type Differences, fillingUp, LIMIT, shell, write } from './scenarios.ts';
import { type AgentStep, script } from './script.ts';
import { semaphore } from './semaphore.ts';
import type { Providers } from './server.ts';
import { sessionScenario } from './session-scenario.ts';

const MEMORY_MB = 2048;
const DISK_MB = 700;

const eating = `python3 -c 'all = []\nwhile True: all.append(b"x" * 16_000_000)'; echo "python ended with $?"`;
/**
 * many processes, each smaller than the agent, so that it is the agent that the kernel ends; no $(...), which Gemini
 * CLI refuses
 */
const crowding = `python3 -c 'import os, time; [os.fork() or (globals().update(mine=b"x" * 15_000_000), time.sleep(300)) for _ in range(200)]; time.sleep(300)'; touch late.txt`;

/** The same tasks for each agent, in a whole instance: from the order in a chat to the report there. */
export function taskScenarios(agent: Differences): void {
  let at: AgentTasks;
  let app: TestApp;
  let providers: Providers;
  const slots = semaphore(2);

  beforeAll(async () => {
    if (NO_DOCKER) return;
    at = await startAgentTasks(agent, {
      FETCH_KENNEL_MEMORY_MB: String(MEMORY_MB),
      FETCH_KENNEL_DISK_MB: String(DISK_MB),
    });
    ({ app, providers } = at);
  }, 900_000);
  afterAll(() => at?.close());

  const begin: AgentTasks['begin'] = (...args) => at.begin(...args);
  const over: AgentTasks['over'] = (...args) => at.over(...args);

  /** The message with the plan that waits for a yes, when it is the given one in number. */
  const planOf = async (thread: string, id: string, count: number): Promise<string> => {
    const plans = () =>
      app.store.db
        .selectFrom('questions')
        .selectAll()
        .where('task_id', '=', id)
        .where('kind', '=', 'plan')
        .orderBy('asked_at')
        .execute();
    const { turn_id } = await until(
      `plan ${count} of task ${id}`,
      async () => {
        const task = await findTask(app, id);
        if (task.ended_at) throw new Error(`it is ${task.state}: ${task.reason}`);
        const all = await plans();
        return all.length === count && task.state === 'waiting' ? all.at(-1)! : null;
      },
      LIMIT,
    );
    return (
      (await app.detail(thread)).items.find((item) => item.turn_id === turn_id && item.kind === 'agent_message')
        ?.detail ?? ''
    );
  };

  const scenario = (title: string, work: () => Promise<void>): void => it.concurrent(title, () => slots(work), 900_000);

  describe.skipIf(NO_DOCKER)(`${agent.name} in a task`, () => {
    it('asks the person, and hears the answer after the workers were killed', async () => {
      const { path, thread, id, heard } = await begin(
        'asking',
        write('one.txt', 'one\n'),
        { do: [['ask', { question: 'Which colour?', options: ['red', 'blue'] }]] },
        write('two.txt', 'two\n'),
        { say: 'All done.' },
      );
      await inState(app, id, 'waiting', LIMIT);
      const [container] = containersOf(id);
      app.kill('kennel');
      app.kill('worker');
      await app.whenReady();
      // the API went with the kennel, and its supervisor may not have seen that yet
      const shown = await until('the API answers again', () => app.detail(thread).catch(() => null));
      expect(shown.pending_user_inputs.map(({ request }) => request.questions[0]!.question)).toEqual(['Which colour?']);
      await app.whenReady();
      expect(containersOf(id)).toEqual([container]);
      expect((await app.say(thread, 'blue')).kind).toBe('answer');
      const task = await over(id, thread);
      expect(task.state, task.reason ?? '').toBe('completed');
      expect(task.step).toBe(1);
      expect(task.result?.changes?.files.map((file) => file.path).sort()).toEqual(['one.txt', 'two.txt']);
      expect(readFileSync(join(path, 'two.txt'), 'utf8')).toBe('two\n');
      const lines = await linesOf(app, id);
      expect(lines.map((line) => line.seq)).toEqual(lines.map((_, at) => at + 1));
      expect(lines.filter(({ type }) => type === 'question')).toHaveLength(1);
      expect(heard()).toMatch(/blue/);
      // whatever it wants of its maker's hosts would become a question
      expect(
        await app.store.db.selectFrom('egress_asks').select(['host', 'tool']).where('task_id', '=', id).execute(),
      ).toEqual([]);
    }, 900_000);

    scenario(
      'plans with nothing but reading, changes its plan, and does after the yes what was agreed to',
      async () => {
        const early: AgentStep = { tries: [['write', { path: '/workspace/early.txt', text: 'early\n' }]] };
        const shells: AgentStep = {
          tries: [['shell', { command: 'touch /workspace/early2.txt; rm /workspace/README.md; echo tried' }]],
        };
        const { path, thread, id, goal } = await begin('planning', { plan: true }, early, shells, {
          say: 'I would write one.txt.\n\nFiles:\n- one.txt\n',
        });
        const plan = await planOf(thread, id, 1);
        expect(plan).toContain('> I would write one.txt.');
        expect(plan).toContain('It would touch:\n- `one.txt`\n');
        expect(containersOf(id)).toEqual([]);
        expect(readdirSync(path).sort()).toEqual(['.git', 'README.md']);
        app.kill('kennel');
        app.kill('worker');
        await until('it answers again', () => app.detail(thread).catch(() => null));
        // the model of the second run and of the third is told the same: it tries at once, and may only later
        const second = 'I would write two.txt.\n\nFiles:\n- `two.txt` (new)\n';
        const changed = script(
          { tries: [['write', { path: '/workspace/two.txt', text: 'two\n' }]] },
          { tries: [['plan file', { text: second }]] },
          { tries: [['plan', { plan: second }]] },
          { say: second },
        );
        expect((await app.say(thread, changed)).kind).toBe('answer');
        expect(await planOf(thread, id, 2)).toContain('It would touch:\n- `two.txt`\n');
        expect(readdirSync(path).sort()).toEqual(['.git', 'README.md']);
        const sessions = new Set(
          (await linesOf(app, id)).flatMap((line) => (line.type === 'session' ? [line.sessionId] : [])),
        );
        expect((await app.say(thread, 'yes')).kind).toBe('answer');
        const task = await over(id, thread, 3);
        expect(task.state, task.reason ?? '').toBe('completed');
        const asked = (of: string) =>
          providers.requests().filter(({ user, step }) => user.includes(of) && step !== null);
        // what it tried while it could only read
        const refused = asked(goal).filter(({ step, user }) => step! > 0 && !user.includes(changed));
        expect(refused.length).toBeGreaterThan(0);
        for (const { last } of refused)
          expect(last).toMatch(/read-only file system|access denied|blocked|FileSystem\.writeFile/i);
        // Claude Code hands its plan in with a tool, which asks for a yes of its own
        const handing = asked(changed).some(({ tools }) => tools.includes('ExitPlanMode'));
        expect((await linesOf(app, id)).filter(({ type }) => type === 'proposal')).toHaveLength(handing ? 1 : 0);
        const told = asked(changed).map(({ step, last }) => ({ step, last }));
        expect(
          task.result?.changes?.files.map((file) => file.path),
          JSON.stringify(told, null, 1),
        ).toEqual(['two.txt']);
        expect(readFileSync(join(path, 'two.txt'), 'utf8')).toBe('two\n');
        expect(await report(app, id)).toContain('It followed the plan that you agreed to.');
        // one session from the first run to the last
        expect(sessions.size).toBe(1);
        expect((await linesOf(app, id)).flatMap((line) => (line.type === 'session' ? [line.resumed] : []))).toEqual([
          false,
          true,
          true,
        ]);
      },
    );

    const { name } = agent;
    if (isSessionAgent(name))
      scenario('hands over its session, goes on with it, and loses no turn', () => sessionScenario(at, name));

    scenario('proposes a setup script, and goes on in an image that has it', async () => {
      const word = `${agent.name}-${Date.now()}`;
      const lines = [`echo "echo ${word}" > /usr/local/bin/tiny`, 'chmod 755 /usr/local/bin/tiny']
        .map((line) => `'${line}'`)
        .join(' ');
      const { thread, id, heard } = await begin(
        'installing',
        shell(`printf '%s\\n' ${lines} | fetch-setup -`),
        { say: 'It is proposed.', until: 'The person agreed to your setup script' },
        shell('tiny'),
        { say: 'All done.' },
      );
      await inState(app, id, 'waiting', LIMIT);
      expect(JSON.stringify((await app.detail(thread)).pending_approvals[0]!)).toContain(word);
      expect((await app.say(thread, 'yes')).kind).toBe('answer');
      const task = await over(id, thread, 2);
      expect([task.state, task.step, task.reason ?? '']).toEqual(['completed', 2, expect.anything()]);
      expect(heard(1)).toContain('The person agreed. The image is built when you stop');
      expect(heard(3)).toContain(word);
      expect((await linesOf(app, id)).flatMap((line) => (line.type === 'session' ? [line.resumed] : []))).toEqual([
        false,
        true,
      ]);
    });

    scenario('goes on when a command of it takes all the memory: only the command is ended', async () => {
      const { thread, id, heard } = await begin('eating', shell(eating), write('after.txt', 'after\n'), {
        say: 'All done.',
      });
      const task = await over(id, thread);
      expect(task.state, task.reason ?? '').toBe('completed');
      expect(task.result?.changes?.files.map((file) => file.path)).toEqual(['after.txt']);
      expect(heard(1)).toMatch(/python ended with 137/);
      expect(await notes(id)).toMatch(/ran out of memory/);
    });

    scenario('fails for want of memory, and says so, when it is ended itself', async () => {
      const { thread, id } = await begin('crowding', write('before.txt', 'before\n'), shell(crowding), {
        say: 'Too late.',
      });
      const task = await over(id, thread);
      expect(task.state, task.reason ?? '').toBe('failed');
      expect(await report(app, id)).toMatch(/The container ran out of memory/);
      // what it did is kept off the branch of the person
      expect(task.result?.changes).toMatchObject({ keptOn: `fetch/${id}`, files: [{ path: 'before.txt' }] });
    });

    scenario('hears that /tmp is full, and goes on', async () => {
      const { path, thread, id, heard } = await begin(
        'scratch',
        shell(fillingUp('/tmp')),
        shell('stat -c %s /tmp/filling > size.txt; rm /tmp/filling'),
        write('after.txt', 'after\n'),
        { say: 'All done.' },
      );
      const task = await over(id, thread);
      expect(task.state, task.reason ?? '').toBe('completed');
      // Claude Code keeps what a command prints there, and has words of its own when it cannot
      expect(heard(1)).toMatch(/no space left on device/i);
      expect(Number(readFileSync(join(path, 'size.txt'), 'utf8'))).toBeLessThanOrEqual((MEMORY_MB / 2) * 1024 * 1024);
      expect(task.result?.changes?.files.map((file) => file.path)).toEqual(['after.txt', 'size.txt']);
    });

    scenario('is ended when it takes more of the disk than it may, and says so', async () => {
      // Codex goes on while a command of it runs
      const waits = Array.from({ length: 5 }, () => shell('sleep 60'));
      const filling = shell(`head -c ${DISK_MB + 100}M /dev/zero > "$HOME/filling"; sleep 300`);
      const { thread, id } = await begin('filling', write('before.txt', 'before\n'), filling, ...waits, {
        say: 'Too late.',
      });
      const task = await over(id, thread);
      expect(task.state).toBe('failed');
      expect(await report(app, id)).toMatch(
        new RegExp(`The agent's files took \\d+ MB, and ${DISK_MB} MB are allowed\\.`),
      );
      expect(task.result?.changes).toMatchObject({ keptOn: `fetch/${id}`, files: [{ path: 'before.txt' }] });
    });
  });

  async function notes(id: string): Promise<string> {
    return (await linesOf(app, id)).flatMap((line) => (line.type === 'note' ? line.text : [])).join('\n');
  }
}
