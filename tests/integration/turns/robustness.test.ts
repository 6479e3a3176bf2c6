import { execFile } from 'node:child_process';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseUrl } from '../../../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../../../src/config.ts';
import { scheduleId } from '../../../src/contracts/ids.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { startTemporalProxy } from '../../support/temporal-proxy.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));

const SCHEDULE_TO_START = temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START;

let app: TestApp;
let slow: Server;
/** pages that somebody waits for */
const waiting: ServerResponse[] = [];
beforeAll(async () => {
  app = await startTestApp();
  slow = createServer((_request, response) => void waiting.push(response));
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  slow?.close();
  await app?.close();
});

/** Lets the model call one tool in a turn of its own; what the tool said. */
async function call(
  thread: string,
  name: string,
  args: Record<string, unknown>,
): Promise<{ ok: boolean; output: string }> {
  const turn = await app.turn(thread, [{ call: [[name, args]] }, { say: 'done' }]);
  await app.ended(thread, turn);
  const row = await app.store.db
    .selectFrom('calls')
    .select(['ok', 'output'])
    .where('turn_id', '=', turn)
    .executeTakeFirstOrThrow();
  return { ok: row.ok === true, output: row.output ?? '' };
}

describe('a worker', () => {
  const chats = 8;
  const pidOf = () => app.state().roles.find(({ name }) => name === 'worker')!.pid!;

  /** Threads that the worker remembers, each with a turn that waits for it: it is stopped, as by a very busy machine. */
  async function stopped(): Promise<{ threads: string[]; turns: string[] }> {
    const threads = await Promise.all(Array.from({ length: chats }, () => app.thread()));
    for (const thread of threads) await app.ended(thread, await app.turn(thread, [{ say: 'hello' }]));
    process.kill(pidOf(), 'SIGSTOP');
    return { threads, turns: await Promise.all(threads.map((each) => app.turn(each, [{ say: 'again' }]))) };
  }

  /** Workflow tasks of these chats that waited in vain for their worker, and those that another one gave back. */
  async function given(threads: string[]): Promise<{ timedOut: number; failed: number }> {
    const connection = await Connection.connect({ address: app.temporalAddress });
    const { workflow } = clientOf(app, connection);
    const found = { timedOut: 0, failed: 0 };
    for (const thread of threads) {
      const { workflow_id: id } = await app.store.db
        .selectFrom('threads')
        .innerJoin('chats', 'chats.id', 'threads.chat_id')
        .select('chats.workflow_id')
        .where('threads.id', '=', thread)
        .executeTakeFirstOrThrow();
      for (const event of (await workflow.getHandle(id).fetchHistory()).events ?? []) {
        const { timeoutType } = event.workflowTaskTimedOutEventAttributes ?? {};
        if (timeoutType === SCHEDULE_TO_START) found.timedOut += 1;
        if (event.workflowTaskFailedEventAttributes) found.failed += 1;
      }
    }
    await connection.close();
    return found;
  }

  it('that is only busy for seconds keeps its conversations', async () => {
    const { threads, turns } = await stopped();
    // as long as chats waited for it at forty busy processes
    await new Promise((wake) => setTimeout(wake, 14_000));
    process.kill(pidOf(), 'SIGCONT');
    for (const [at, thread] of threads.entries()) await app.ended(thread, turns[at]!);
    expect(await given(threads)).toMatchObject({ timedOut: 0 });
  });

  it('gives the conversations of a killed one back at once', async () => {
    const { threads, turns } = await stopped();
    const killed = app.kill('worker');
    const worker = () => app.state().roles.find(({ name }) => name === 'worker')!;
    const begun = Date.now();
    await until('another worker is ready', () => worker().state === 'ready' && worker().pid !== killed);
    const took = Date.now() - begun;
    for (const [at, thread] of threads.entries()) await app.ended(thread, turns[at]!);
    const { timedOut, failed } = await given(threads);
    // on a machine so busy that the next worker comes late, the server has given them back before
    expect(timedOut + failed).toBeGreaterThan(0);
    if (took < 20_000) expect({ timedOut, gaveBack: failed > 0 }).toEqual({ timedOut: 0, gaveBack: true });
  });
});

describe('a cron that was made disabled', () => {
  it('is enabled by a tool, disabled again, and made again where its schedule is gone', async () => {
    const connection = await Connection.connect({ address: app.temporalAddress });
    const { schedule } = clientOf(app, connection);
    const thread = await app.thread();
    await call(thread, 'workflow_create', { name: 'tidy', steps: ['workflow_list'] });
    await call(thread, 'cron_create', { workflow: 'tidy', schedule: '0 4 * * *', name: 'nightly', enabled: false });
    const cron = () =>
      app.store.db.selectFrom('crons').selectAll().where('name', '=', 'nightly').executeTakeFirstOrThrow();
    const paused = async () => (await schedule.getHandle(scheduleId((await cron()).id)).describe()).state.paused;
    expect(await paused()).toBe(true);
    expect((await call(thread, 'cron_list', {})).output).toMatch(/nightly.*switched off/);

    expect(await call(thread, 'cron_update', { cron: 'Nightly', enabled: true })).toMatchObject({
      ok: true,
      output: expect.stringMatching(/is on again: .*, next .*04:00/),
    });
    expect(await paused()).toBe(false);
    expect((await cron()).enabled).toBe(true);
    expect((await call(thread, 'cron_list', {})).output).toMatch(/nightly.*next .*04:00/);

    expect(await call(thread, 'cron_update', { cron: 'nightly', enabled: false })).toMatchObject({
      ok: true,
      output: expect.stringMatching(/is switched off/),
    });
    expect(await paused()).toBe(true);

    await schedule.getHandle(scheduleId((await cron()).id)).delete();
    expect((await call(thread, 'cron_enable', { cron: 'nightly' })).ok).toBe(true);
    expect(await paused()).toBe(false);
    expect(await call(thread, 'cron_enable', { cron: 'nightli' })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/Did you mean nightly/),
    });
    await connection.close();
  });
});

describe('a workflow that is deleted while it runs', () => {
  it('finishes the step that it is in and ends; the person is told what was done and why it ended', async () => {
    const thread = await app.thread();
    const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/page`;
    await call(thread, 'workflow_create', {
      name: 'tour',
      steps: [{ tool: 'web_fetch', name: 'Look', args: { url } }, 'workflow_list'],
    });
    await call(thread, 'workflow_run', { workflow: 'tour' });
    const page = await until('the first step is under way', () => waiting[0]);
    const deleted = await call(thread, 'workflow_delete', { workflow: 'tour' });
    expect(deleted).toMatchObject({
      ok: true,
      output: expect.stringMatching(/Its run stops after its current step/),
    });
    page.setHeader('content-type', 'text/plain').end('the page');
    const result = await until('the result was delivered', () =>
      app.store.db
        .selectFrom('outbox')
        .selectAll()
        .where('thread_id', '=', thread)
        .where('kind', '=', 'result')
        .where('state', '=', 'sent')
        .executeTakeFirst(),
    );
    expect(result.body).toMatch(/^tour did not work: 1 of 2 steps done/);
    expect(result.body).toMatch(/1\. Look: done/);
    expect(result.body).toMatch(/routine was deleted while it ran/);
    expect((await call(thread, 'workflow_list', {})).output).toBe('There are no routines in this chat.');
  });
});

describe('a Temporal server of somebody else', () => {
  /** Runs `fetch prepare` against it. */
  const prepare = (address: string, command = 'prepare'): Promise<{ code: number; text: string }> => {
    const postgres = app.state().roles.find((role) => role.name === 'postgres')!.address!;
    const env = childEnvironment({
      FETCH_HOME: app.home,
      TEMPORAL_ADDRESS: address,
      DATABASE_URL: databaseUrl(app.home, Number(postgres.split(':')[1])),
    });
    return new Promise((resolve) => {
      execFile(process.execPath, [ENTRY, command], { env, timeout: 60_000 }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, text: stdout + stderr }),
      );
    });
  };

  it('is refused when it is too old, with both versions and what to do', async () => {
    const proxy = await startTemporalProxy(app.temporalAddress, { version: '1.24.2' });
    const { code, text } = await prepare(proxy.address);
    expect(text).toMatch(/is version 1\.24\.2; 1\.27\.0 or newer is needed\. Upgrade it, or unset TEMPORAL_ADDRESS/);
    expect(code).toBe(1);
    expect(await prepare(proxy.address, 'doctor')).toMatchObject({
      code: 1,
      text: expect.stringMatching(/is 1\.24\.2; 1\.27\.0 or newer is needed/),
    });
    await proxy.close();
  });

  it('may forbid administration: what could not be prepared is a warning with the command for its administrator', async () => {
    const proxy = await startTemporalProxy(app.temporalAddress, {
      forbidden: ['OperatorService*', 'DescribeNamespace', 'UpdateNamespace', 'RegisterNamespace'],
    });
    const { code, text } = await prepare(proxy.address);
    expect(text).toMatch(
      /Search attributes could not be made: temporal operator search-attribute create -n default --name AgentPhase --type Keyword/,
    );
    expect(text).toMatch(/Namespace default could not be looked at/);
    expect(code).toBe(0);
    await proxy.close();
  });

  it('is refused when it is no Temporal server at all', async () => {
    const web = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(web.address() as AddressInfo).port}`;
    const { code, text } = await prepare(address, 'worker');
    expect(text).toMatch(new RegExp(`No Temporal server answers at ${address}`));
    expect(text).not.toMatch(/\n\s+at /);
    expect(code).toBe(1);
    web.close();
  });
});
