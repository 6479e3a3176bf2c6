import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script, startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { type BackgroundDifference, backgroundDifferences } from './differences.ts';
import { type Answer, type Exchange, loadExchanges, send } from './golden.ts';
import { backgroundNotCompared } from './not-compared.ts';
import { sharedOrder } from './skeleton.ts';

/**
 * The recorded sessions of tasks and automations, told again from their first request to their last. What each answers
 * depends on those before.
 */

const WORKSPACE = '/tmp/fetch-workspace';
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_WORKSPACE: WORKSPACE, AGENT_MODEL: 'deepseek-v4-pro' });
}, 120_000);
afterAll(() => app?.close());

const port = () => Number(new URL(app.baseUrl).port);
const AUTH = { Authorization: 'Bearer test-token' };
const JSON_BODY = { ...AUTH, 'Content-Type': 'application/json' };

interface Session {
  exchanges: Map<string, Exchange>;
  /** recorded cases that were sent */
  seen: Set<string>;
}
const session = (file: string): Session => ({
  exchanges: new Map(loadExchanges(file).map((exchange) => [exchange.case, exchange])),
  seen: new Set(),
});

/**
 * Sends a recorded request with real ids, and compares its answer. `<uuid>`, `<task>` and the like stand in the
 * recording for `ids`.
 */
async function replay(from: Session, name: string, ids: Record<string, string> = {}): Promise<Answer> {
  const exchange = from.exchanges.get(name)!;
  from.seen.add(name);
  const fill = (text: string) =>
    Object.entries(ids)
      .reduce((filled, [placeholder, id]) => filled.replaceAll(placeholder, id), text)
      .replaceAll('TOKEN', 'test-token')
      .replaceAll('<ws>', WORKSPACE);
  const [method, path] = fill(exchange.request.line).split(' ') as [string, string];
  const headers = Object.fromEntries(
    Object.entries(exchange.request.headers).map(([key, value]) => [key, fill(value)]),
  );
  const answer = await send(
    port(),
    method,
    path,
    headers,
    exchange.request.body === null ? null : fill(exchange.request.body),
  );
  compare(exchange, answer);
  return answer;
}

function compare({ case: name, response }: Exchange, answer: Answer): void {
  const different = backgroundDifferences.filter(({ cases }) => cases.test(name));
  const status = different.find((each) => each.status !== undefined)?.status ?? response.status;
  expect(answer.status, `${name}: ${answer.body}`).toBe(status);
  expect(answer.headers['content-type'], name).toBe(
    different.find((each) => each.type !== undefined)?.type ?? response.headers['content-type'],
  );
  const body = different.find((each) => each.body !== undefined)?.body;
  if (body || !response.headers['content-type']!.includes('json')) {
    expect(answer.body, name).toEqual(body ? expect.stringMatching(body) : response.body);
    return;
  }
  const [ours, theirs] = [JSON.parse(answer.body), JSON.parse(response.body)] as [unknown, unknown];
  const order = sharedOrder(ours, theirs);
  expect(order.ours, name).toEqual(order.theirs);
  expect(shown(ours, different), name).toEqual(shown(theirs, different));
}

/** Placeholders for what differs on every run, and without the fields of listed differences. */
function shown(value: unknown, different: readonly BackgroundDifference[]): unknown {
  if (Array.isArray(value)) return value.map((each) => shown(each, different));
  if (typeof value === 'string') return masked(value);
  if (value === null || typeof value !== 'object') return value;
  const left = new Set(different.flatMap(({ fields = [] }) => fields));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([field]) => !left.has(field))
      .map(([field, each]) => [field, field === 'duration_ms' && each !== null ? 0 : shown(each, different)]),
  );
}

const masked = (text: string): string =>
  text
    .replaceAll(WORKSPACE, '<ws>')
    .replace(
      /\b(thr|turn|item|call|task)_[0-9a-f]{16}\b|\b(thr|turn|item|call|task)<\d+>/g,
      (_, ours: string, theirs: string) => `${ours ?? theirs}<>`,
    )
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|uuid<\d+>/g, 'uuid<>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<ts>');

const idIn = (answer: Answer): string => (JSON.parse(answer.body) as { id: string }).id;
const task = async (id: string): Promise<{ status: string; thread_id: string }> =>
  (await app.request('GET', `/v1/tasks/${id}`)).body as { status: string; thread_id: string };
const reached = (id: string, ...statuses: string[]) =>
  until(`${id} is ${statuses.join(' or ')}`, async () => statuses.includes((await task(id)).status));

/** Every recorded case was compared, or is listed with its reason. */
function complete({ exchanges, seen }: Session): void {
  const left = [...exchanges.keys()].filter(
    (name) => !seen.has(name) && !backgroundNotCompared.some(({ cases }) => cases.test(name)),
  );
  expect(left).toEqual([]);
}

describe('the recorded tasks of the reference server', () => {
  const tasks = session('tasks.jsonl');
  const told = (name: string, ids?: Record<string, string>) => replay(tasks, `tasks/${name}`, ids);

  it('begin with none, and refuse what is not there', async () => {
    await told('list_empty');
    await told('get_missing');
    await told('list_limit_-1');
  });

  it('are accepted as queued, and end with what was said', async () => {
    const first = idIn(await told('create_min'));
    await reached(first, 'completed');
    await told('get_prefix_ambiguous');
    const modes = idIn(await told('create_modes'));
    await told('create_trim');
    await told('get_prefix_ambiguous_real');
    await told('cancel_prefix', { task_d2f70: modes.slice(0, 12) });
    const refused = idIn(
      await send(port(), 'POST', '/v1/tasks', JSON_BODY, JSON.stringify({ prompt: script([{ fail: 401 }]) })),
    );
    await reached(refused, 'failed');
    await told('get_failed', { 'task<1>': refused });
  });

  it('are cancelled while they run, and stay as they are after that', async () => {
    const slow = idIn(await told('q_create_0'));
    const other = idIn(await told('q_create_1'));
    await until('it speaks', async () =>
      (await app.detail((await task(slow)).thread_id)).items.some(({ kind }) => kind === 'agent_message'),
    );
    await told('q_cancel_running', { 'task<1>': slow });
    await reached(slow, 'canceled');
    await told('q_get_canceled', { 'task<1>': slow });
    await told('q_canceled_thread', { 'thr<1>': (await task(slow)).thread_id });
    await reached(other, 'completed');
    await told('cancel_running', { 'task<1>': other });
    await told('cancel_running_twice', { 'task<1>': other });
    await told('get_canceled', { 'task<1>': other });
    await told('canceled_thread', { 'thr<1>': (await task(other)).thread_id });
    await told('list_limit_0');
    await told('list_final');
  });

  it('are all compared', () => complete(tasks));
});

describe('the recorded automations of the reference server', () => {
  const automations = session('automations.jsonl');
  const told = (name: string, ids?: Record<string, string>) => replay(automations, `automations/${name}`, ids);
  const UNKNOWN = { 'uuid<1>': '00000000-0000-4000-8000-000000000000' };

  it('are refused with the same words, and ids are ids', async () => {
    await told('list_empty');
    for (const name of automations.exchanges.keys()) {
      if (/create_(bad|blank|cwds|malformed|no|status_upper)|badchars|trav$|traversal/.test(name))
        await told(name.replace('automations/', ''));
      else if (/unknown$|runs_deleted$/.test(name)) await told(name.replace('automations/', ''), UNKNOWN);
    }
  });

  it('are made, changed, paused and deleted', async () => {
    const id = idIn(await told('create'));
    const own = { 'uuid<1>': id };
    await told('get', own);
    await told('list', own);
    await told('run_body', own);
    await until('its run has ended', async () =>
      /"completed"/.test(JSON.stringify((await app.request('GET', `/v1/automations/${id}/runs`)).body)),
    );
    await told('runs_l1', own);
    await told('runs_l0', own);
    await told('pause', own);
    await told('pause_again', own);
    await told('resume', own);
    await told('resume_again', own);
    for (const name of [
      'patch',
      'patch_empty',
      'patch_bad_rrule',
      'patch_bad_status',
      'patch_blank',
      'patch_blank_prompt',
      'patch_nobody',
      'patch_status',
    ])
      await told(name, own);
    for (const name of ['patch_cwds', 'patch_null', 'delete', 'delete_again']) await told(name, own);
    await told('create_trimmed');
  });

  it('are all compared', () => complete(automations));
});

describe('the recorded rules of the reference server', () => {
  const rules = session('automations-rrule.jsonl');
  for (const name of rules.exchanges.keys()) {
    it(`${name} is answered alike`, async () => {
      const answer = await replay(rules, name);
      if (answer.status === 201)
        expect((await send(port(), 'DELETE', `/v1/automations/${idIn(answer)}`, AUTH)).status).toBe(200);
    });
  }
});
