import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeLabel } from '../../../../src/adapters/kennel/docker/containers.ts';
import type { RoleName } from '../../../../src/cli/instance/home/state-file.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { requireDocker } from '../../../support/docker.ts';
import { inState, kennelReady, linesOf, startTask, workspace } from '../../../support/kennel-app.ts';
import { until } from '../../../support/until.ts';

let app: TestApp;
let project: string;
beforeAll(async () => {
  await requireDocker();
  // one role at a time is replaced here
  app = await startTestApp({ FETCH_STOP_SECONDS: '8', FETCH_SEPARATE_PROCESSES: 'true' });
  await kennelReady(app);
  project = (await workspace(app, 'demo')).path;
}, 180_000);
afterAll(() => app?.close());

const pidOf = (role: RoleName): number => app.state().roles.find((each) => each.name === role)!.pid!;

/** As a deployment does: this role alone, whose supervisor then starts the next one. Resolves when that one serves. */
async function redeploy(role: RoleName): Promise<void> {
  const pid = pidOf(role);
  process.kill(pid, 'SIGTERM');
  await until(`${role} is another process`, () => {
    const now = app.state().roles.find((each) => each.name === role)!;
    return now.pid !== pid && now.state === 'ready';
  });
}

const open = (turn: string) =>
  until('the model is asked', () =>
    app.model.requests().some((each) => each.requestId.startsWith(turn) && each.state === 'open'),
  );

/** A turn that runs one command in the workspace, and says what it was told of it. */
async function shell(command: string): Promise<{ thread: string; turn: string }> {
  const thread = await app.thread({ allow_shell: true });
  await app.store.db.updateTable('chats').set({ autonomy: 'autonomous' }).execute();
  const turn = await app.turn(thread, [
    { call: [['shell_run', { command, workspace: 'demo' }]] },
    { say: 'It said: $LAST' },
  ]);
  return { thread, turn };
}
const wrote = (name: string) => until(`${name} is written`, () => existsSync(join(project, name)));
const said = async (thread: string) =>
  (await app.detail(thread)).items.findLast((item) => item.kind === 'agent_message')?.detail;

describe('a stop while something is under way', () => {
  it('lets a model step end, which is asked for and paid once', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'words '.repeat(40), pace: 75 }]);
    await open(turn);
    await redeploy('worker');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(app.model.asked(turn)).toBe(1);
    expect(
      (await app.detail(thread)).items.filter((item) => item.kind === 'agent_message').map((item) => item.status),
    ).toEqual(['completed']);
  });

  it('lets a command end, which runs once, and its result is told', async () => {
    const { thread, turn } = await shell('echo run >> once.txt; sleep 4; echo finished');
    await wrote('once.txt');
    await redeploy('kennel');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await said(thread)).toMatch(/finished/);
    expect(readFileSync(join(project, 'once.txt'), 'utf8')).toBe('run\n');
  });

  it('ends a command that takes longer than it waits, and says what is known of it', async () => {
    const { thread, turn } = await shell('echo run >> long.txt; echo so far; sleep 600; echo end >> long.txt');
    await wrote('long.txt');
    await redeploy('kennel');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await said(thread)).toMatch(/was stopped before its end.*restarted.*not run again by itself\.\s+so far/s);
    expect(await said(thread)).not.toMatch(/unknown/);
    expect(readFileSync(join(project, 'long.txt'), 'utf8')).toBe('run\n');
    expect(
      execFileSync(
        'docker',
        ['ps', '-q', '--filter', 'label=fetch.step=shell', '--filter', `label=fetch.home=${homeLabel(app.home)}`],
        {
          encoding: 'utf8',
        },
      ).trim(),
    ).toBe('');
  });

  it('hands a coding task back at once, which goes on in its container', async () => {
    const { id } = await startTask(app, 'wait 6; write task.txt a', { workspace: 'demo' });
    await until('it works', async () => (await linesOf(app, id)).some((line) => line.type === 'tool'));
    const from = Date.now();
    await redeploy('kennel');
    expect(Date.now() - from).toBeLessThan(7_000);
    await inState(app, id, 'completed');
    expect((await linesOf(app, id)).filter((line) => line.type === 'ended')).toHaveLength(1);
    expect(existsSync(join(project, 'task.txt'))).toBe(true);
  });

  it('waits with the servers until the roles have ended, and goes on where it was at the next start', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['report_progress', { message: 'one' }]] },
      { say: 'words '.repeat(40), pace: 75 },
    ]);
    await until('the second step is asked for', () => app.model.asked(turn) === 2);
    await app.stop();
    await app.start();
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(app.model.asked(turn)).toBe(2);
  });

  it('ends at once when it is asked for a second time', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'words '.repeat(400), pace: 75 }]);
    await open(turn);
    app.supervisor().kill('SIGTERM');
    await until(
      'it waits for its worker',
      () => app.state()?.roles.find((each) => each.name === 'worker')?.state === 'stopping',
    );
    const from = Date.now();
    app.supervisor().kill('SIGTERM');
    await until('it has stopped', () => app.supervisor().exitCode !== null);
    expect(Date.now() - from).toBeLessThan(7_000);
    await app.start();
  });
});
