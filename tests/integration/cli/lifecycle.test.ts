import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { liveRunState } from '../../../src/cli/instance/home/state-file.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until, within } from '../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app?.close());

const streaming = (thread: string) =>
  until('text streams', async () => (await app.events(thread)).some((event) => event.event === 'item.delta'));

describe('a running turn', () => {
  it('goes on after its worker is stopped for a redeploy', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'words '.repeat(60), pace: 50 }]);
    await streaming(thread);
    process.kill(app.state().roles.find((role) => role.name === 'worker')!.pid!, 'SIGTERM');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    const messages = (await app.detail(thread)).items.filter(
      (item) => item.kind === 'agent_message' && item.status === 'completed',
    );
    expect(messages).toHaveLength(1);
    await app.whenReady();
  });

  it('goes on after its worker is killed, and says so once', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['report_progress', { message: 'one' }]] },
      { say: 'words '.repeat(60), pace: 50 },
    ]);
    await streaming(thread);
    app.kill('worker');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    const { items } = await app.detail(thread);
    expect(items.filter((item) => item.kind === 'agent_message').map((item) => item.status)).toEqual([
      'interrupted',
      'completed',
    ]);
    expect(items.filter((item) => item.kind === 'tool_call')).toHaveLength(1);
    await app.whenReady();
  });

  it('has its worker started again at once, however often one is killed that was well', async () => {
    for (let killed = 0; killed < 6; killed++) {
      const pid = app.kill('worker');
      await within(
        'the next worker is started',
        () => {
          const worker = app.state().roles.find(({ name }) => name === 'worker');
          return worker?.pid && worker.pid !== pid;
        },
        4_000,
      );
      await app.whenReady();
    }
  });

  it('is brought back when the Temporal server has lost everything, with an open question still open', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Still there?', options: ['yes', 'no'] }]] },
      { say: 'You said $LAST' },
    ]);
    await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
    const paid = app.model.requests().length;
    await app.stop();
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(app.home, `temporal-1.29.sqlite${suffix}`), { force: true });
    // age the rows instead of waiting: what is younger than half a minute is left alone
    await app.start();
    await app.store.db
      .updateTable('inbox')
      .set({ signalled_at: new Date(Date.now() - 3_600_000) })
      .where('turn_id', '=', turn)
      .execute();
    expect((await app.say(thread, '1')).kind).toBe('answer');
    expect((await app.ended(thread, turn, 110_000)).status).toBe('completed');
    expect(app.model.requests().length).toBe(paid + 1);
    const connection = await Connection.connect({ address: app.temporalAddress });
    const client = clientOf(app, connection);
    await until(
      'the conversation is idle',
      async () => (await client.workflow.count(`ExecutionStatus = 'Running' AND AgentPhase = 'idle'`)).count > 0,
    );
    await connection.close();
  });
});

describe('two starts of one home in the same instant', () => {
  it('end with one instance; the other says whose it is and what to do, and a killed one blocks nobody', async () => {
    await app.stop();
    const both = [app.spawn(), app.spawn()];
    const refused = await until('one start is refused', () => both.find(({ child }) => child.exitCode !== null));
    expect(refused.child.exitCode).toBe(1);
    const text = refused.output();
    const { supervisor } = await until('the other one is ready', async () => {
      const state = await liveRunState(app.home);
      const roles = state?.roles.filter((role) => role.name !== 'kennel') ?? [];
      return roles.length === 5 && roles.every((role) => role.state === 'ready') ? state : null;
    });
    expect(supervisor.pid).toBe(both.find((start) => start !== refused)!.child.pid);
    expect(text).toMatch(new RegExp(`(Process|process) ${supervisor.pid}\\b`));
    expect(text).toMatch(/npm run fetch -- chat.*npm run fetch -- stop.*--home/);
    process.kill(supervisor.pid, 'SIGKILL');
    await app.start();
    const thread = await app.thread();
    expect((await app.ended(thread, await app.turn(thread, [{ say: 'one' }]))).status).toBe('completed');
  });
});
