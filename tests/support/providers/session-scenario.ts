import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findSession } from '../../../src/adapters/sessions/places.ts';
import { apply } from '../../../src/cli/home/hand-over/apply.ts';
import { handOver } from '../../../src/cli/home/hand-over/hand-over.ts';
import { give, take } from '../../../src/cli/home/hand-over/with-instance.ts';
import { loadConfig } from '../../../src/config.ts';
import { factsOfSession, type SessionAgent } from '../../../src/domain/tasks/session-text.ts';
import type { Task } from '../../../src/store/kennel/tasks/tasks.ts';
import { inState, linesOf } from '../kennel-app.ts';
import { until } from '../until.ts';
import type { AgentTasks } from './agent-tasks.ts';
import { LIMIT, shell, write } from './scenarios.ts';
import { script } from './script.ts';

/** A session of a task goes to the computer of a person, comes back as another task, and goes there once more. */
export async function sessionScenario(at: AgentTasks, agent: SessionAgent): Promise<void> {
  const { app, providers } = at;
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'fetch-laptop-')));
  const [laptop, home] = [join(top, 'handing'), join(top, 'home')];
  mkdirSync(home);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', '-C', laptop, ...args], { encoding: 'utf8' }).trim();
  const asked = async (thread: string, path: string, init: RequestInit = {}): Promise<Buffer> => {
    const headers = { authorization: 'Bearer test-token', ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(`${app.baseUrl}/v1/threads/${thread}/${path}`, { ...init, headers });
    const body = Buffer.from(await response.arrayBuffer());
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${body}`);
    return body;
  };
  const answerTo = async (thread: string, text: string, files: string[] = []): Promise<string> => {
    const body = JSON.stringify({ text, attachment_ids: files });
    const headers = { 'content-type': 'application/json' };
    const said = JSON.parse((await asked(thread, 'messages', { method: 'POST', body, headers })).toString()) as {
      turn_id: string;
    };
    await app.ended(thread, said.turn_id, LIMIT);
    const { items } = await app.detail(thread);
    return items.findLast(({ turn_id, kind }) => turn_id === said.turn_id && kind === 'agent_message')?.detail ?? '';
  };
  /** `give` in the chat, and the file on the computer. */
  const comesHome = async (thread: string): Promise<string> => {
    const given = await answerTo(thread, 'give');
    const id = /\(attachment:(att_\w+)\)/.exec(given)?.[1];
    expect(id, given).toBeDefined();
    const file = join(top, 'given.gz');
    writeFileSync(file, await asked(thread, `attachments/${id}`));
    const told = await apply(file, laptop, home);
    const session = told.trim().split(' ').at(-1)!;
    const text = readFileSync((await findSession(home, agent, session))!, 'utf8');
    expect(factsOfSession(agent, text)).toMatchObject({ id: session, folder: laptop });
    return text;
  };
  /** The task that the session goes on in, when it is over. */
  const taskAfter = async (earlier: string[]): Promise<Task> => {
    const { id } = await until('its task is there', () =>
      app.store.db
        .selectFrom('tasks')
        .innerJoin('tasks as first', (on) => on.onRef('first.session_id', '=', 'tasks.session_id'))
        .select('tasks.id')
        .where('first.id', '=', earlier[0]!)
        .where('tasks.id', 'not in', earlier)
        .executeTakeFirst(),
    );
    return await inState(app, id, 'completed', LIMIT);
  };
  try {
    const { path, thread, id } = await at.begin('handing', write('one.txt', 'one\n'), { say: 'One is done.' });
    const first = await at.over(id, thread);
    expect(first.state, first.reason ?? '').toBe('completed');
    execFileSync('git', ['-c', 'safe.directory=*', 'clone', '-q', path, laptop]);
    expect(await comesHome(thread)).toContain('One is done.');

    writeFileSync(join(laptop, 'two.txt'), 'two\n');
    const out = join(top, 'handed.gz');
    await handOver(laptop, { out, home });
    const uploaded = JSON.parse(
      (
        await asked(thread, 'attachments?name=handing.session.gz', { method: 'POST', body: readFileSync(out) })
      ).toString(),
    ) as { id: string };
    const goal = script(shell('cat one.txt two.txt > three.txt'), { say: 'Three is done.' });
    expect(await answerTo(thread, `take: ${goal}`, [uploaded.id])).toMatch(/goes on with your session in handing/);
    const second = await taskAfter([id]);
    const next = second.id;
    expect((await linesOf(app, next)).flatMap((line) => (line.type === 'session' ? [line] : []))).toMatchObject([
      { sessionId: first.session_id, resumed: true },
    ]);
    const heard = providers.requests().find(({ user, step }) => user.includes(goal) && step === 0)!;
    expect(JSON.stringify(providers.body(heard.n))).toContain('One is done.');
    expect(second.result?.changes?.files.map((file) => file.path)).toEqual(['three.txt']);

    const last = await comesHome(thread);
    expect(last).toContain('One is done.');
    expect(last).toContain('Three is done.');
    expect(readFileSync(join(laptop, 'three.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(git('status', '--porcelain', '--branch')).toBe(`## fetch/${next}`);

    // the same from a terminal
    const config = loadConfig(app.settings, {});
    await handOver(laptop, { out, home });
    expect(await take(config, out, script(shell('cat three.txt > four.txt'), { say: 'Four is done.' }))).toMatch(
      /goes on with your session in handing/,
    );
    const third = await taskAfter([id, next]);
    expect(third.chat_id).not.toBe(second.chat_id);
    const file = join(top, 'third.gz');
    await give(config, { task: '1', folder: laptop, out: file });
    await apply(file, laptop, home);
    expect(readFileSync((await findSession(home, agent, third.session_id!))!, 'utf8')).toContain('Four is done.');
    expect(readFileSync(join(laptop, 'four.txt'), 'utf8')).toBe('one\ntwo\n');
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
}
