import { afterAll, beforeAll, expect, it } from 'vitest';
import { callsThen, freePorts, startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';
import { ONLY_AFTER_FAILURES, watchedMetrics } from '../../support/watched.ts';

let app: TestApp;
let port: number;

beforeAll(async () => {
  [port] = (await freePorts(1)) as [number];
  app = await startTestApp({ FETCH_METRICS_PORT: String(port) });
});
afterAll(() => app?.close());

const scrape = async (offset: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port + offset}/metrics`)).text();

/** The sum of the samples of a metric whose labels have this text. */
const value = (text: string, name: string, labels = ''): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => line.includes(labels))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);

const SECRET = 'kingfisher above the emerald lagoon';

it('counts a turn, its steps, tool calls and tokens in the worker, and shows the metrics of the SDK at the same address', async () => {
  const thread = await app.thread();
  await app.ended(thread, await app.turn(thread, callsThen([['web_fetch', { url: 'http://127.0.0.1:1/' }]], SECRET)));
  const text = await until(
    'the turn is counted',
    async () => {
      const found = await scrape(1);
      return value(found, 'fetch_turns_total', 'completed') === 1 && found;
    },
    30_000,
  );
  expect(value(text, 'fetch_steps_total', 'answered')).toBe(2);
  expect(value(text, 'fetch_tool_calls_total', 'tool="web_fetch"')).toBe(1);
  expect(value(text, 'fetch_model_request_duration_seconds_count', 'ok')).toBe(2);
  expect(value(text, 'fetch_model_tokens_total', 'input')).toBeGreaterThan(0);
  expect(value(text, 'fetch_role_ready', 'worker')).toBe(1);
  expect(value(text, 'temporal_workflow_task_schedule_to_start_latency_seconds_count')).toBeGreaterThan(0);
  expect(value(text, 'temporal_activity_schedule_to_start_latency_seconds_count')).toBeGreaterThan(0);
});

it('shows what is in the store and on the task queues, once, where gateway and API run', async () => {
  const text = await scrape(0);
  expect(value(text, 'fetch_scrape_failures_total')).toBe(0);
  expect(text).toMatch(/^fetch_open_questions 0$/m);
  expect(text).toMatch(/^fetch_inbox_waiting 0$/m);
  expect(value(text, 'fetch_task_queue_pollers', 'task_queue="agent"')).toBeGreaterThan(0);
  expect(value(text, 'fetch_role_ready')).toBeGreaterThanOrEqual(2);
  expect(await scrape(1)).not.toMatch(/^fetch_open_questions \d/m);
});

it('shows no words and no ids of people, chats or turns', async () => {
  const text = (await scrape(0)) + (await scrape(1));
  for (const word of SECRET.split(' ').filter((each) => each.length > 4)) expect(text).not.toContain(word);
  expect(text).not.toMatch(/\b(thr|turn|call|msg|out|inb|tsk)_[0-9a-z]{6}|chat\/\w/);
});

it('shows every metric of the SDK that the board and the rules name', async () => {
  const text = await scrape(1);
  const watched = [...watchedMetrics()].filter(
    (name) => name.startsWith('temporal_') && !ONLY_AFTER_FAILURES.includes(name),
  );
  expect(watched.length).toBeGreaterThan(0);
  expect(watched.filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([]);
});
