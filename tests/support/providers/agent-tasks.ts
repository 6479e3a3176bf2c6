import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { modelSetting } from '../../../src/domain/tasks/agents/agent-settings.ts';
import type { Task } from '../../../src/store/kennel/tasks/tasks.ts';
import { startTestApp, type TestApp } from '../app.ts';
import { requireDocker } from '../docker.ts';
import { containersOf, findTask, inState, kennelReady, linesOf, startTask, workspace } from '../kennel-app.ts';
import { until } from '../until.ts';
import { PROVIDER_KEY } from './gate.ts';
import { type Differences, LIMIT } from './scenarios.ts';
import { type AgentStep, script } from './script.ts';
import { type Providers, startProviders } from './server.ts';

const ENDINGS = /^(?:Done in|The agent in \S+ could not|Stopped in)/;

export interface ScriptedTask {
  path: string;
  thread: string;
  id: string;
  goal: string;
  /** what its model was told by its tools, before a step of the script or at all */
  heard(step?: number): string;
}

/** A whole instance whose tasks are done by one agent, with a scripted model. */
export interface AgentTasks {
  app: TestApp;
  providers: Providers;
  begin(name: string, first: AgentStep | { plan: true }, ...more: AgentStep[]): Promise<ScriptedTask>;
  /** The task when it is over: once, with one report, one last line, no container and no home left. */
  over(id: string, thread: string, runs?: number): Promise<Task>;
  close(): Promise<void>;
}

export async function startAgentTasks(
  { name: agent, model }: Pick<Differences, 'name' | 'model'>,
  settings: Record<string, string> = {},
): Promise<AgentTasks> {
  await requireDocker(agent);
  const providers = await startProviders();
  const app = await startTestApp({
    FETCH_AUTONOMY: 'autonomous',
    // the providers answer the chat as well
    OPENAI_BASE_URL: `${providers.origin}/openai/v1`,
    OPENAI_API_KEY: PROVIDER_KEY,
    ANTHROPIC_BASE_URL: `${providers.origin}/anthropic`,
    ANTHROPIC_API_KEY: PROVIDER_KEY,
    GOOGLE_GEMINI_BASE_URL: `${providers.origin}/gemini`,
    GEMINI_API_KEY: PROVIDER_KEY,
    ...(model && { [modelSetting(agent)]: model }),
    ...settings,
  });
  await kennelReady(app);

  const begin = async (
    name: string,
    first: AgentStep | { plan: true },
    ...more: AgentStep[]
  ): Promise<ScriptedTask> => {
    const { path } = await workspace(app, name);
    const plan = 'plan' in first;
    const goal = script(...(plan ? [] : [first]), ...more);
    const { thread, id } = await startTask(app, goal, {
      workspace: name,
      agent,
      timeout: LIMIT,
      ...(plan && { plan }),
    });
    const heard = (step?: number): string =>
      providers
        .requests()
        .filter(
          (entry) => entry.step !== null && (step === undefined || entry.step === step) && entry.user.includes(goal),
        )
        .map((entry) => entry.last)
        .join('\n');
    return { path, thread, id, goal, heard };
  };

  const over = async (id: string, thread: string, runs = 1): Promise<Task> => {
    const task = await until(
      `task ${id} is over`,
      async () => ((await findTask(app, id)).ended_at ? await findTask(app, id) : null),
      LIMIT,
    );
    await inState(app, id, task.state);
    const reported = async () =>
      (await app.detail(thread)).items.filter(
        ({ kind, detail }) => kind === 'agent_message' && ENDINGS.test(detail ?? ''),
      );
    await until('it is reported', async () => (await reported()).length > 0);
    expect(await reported()).toHaveLength(1);
    expect((await linesOf(app, id)).filter(({ type }) => type === 'ended').length).toBeLessThanOrEqual(runs);
    expect(containersOf(id)).toEqual([]);
    const folder = join(app.home, 'kennel/runs', id);
    await until('its home is removed', () => !existsSync(join(folder, 'home')));
    expect(megabytes(folder)).toBeLessThan(5);
    return task;
  };

  return {
    app,
    providers,
    begin,
    over,
    close: async () => {
      await app.close();
      await providers.close();
    },
  };
}

const megabytes = (folder: string): number =>
  Number.parseInt(execFileSync('du', ['-sm', folder], { encoding: 'utf8' }), 10);
