import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { until } from '../../../support/until.ts';

let app: TestApp;
const folder = mkdtempSync(join(tmpdir(), 'fetch-once-'));
beforeAll(async () => {
  app = await startTestApp({
    NODE_OPTIONS: `--import=${new URL('../../../support/once-tool.ts', import.meta.url).href}`,
  });
});
afterAll(async () => {
  await app?.close();
  rmSync(folder, { recursive: true, force: true });
});

const ledger = (name: string) => {
  const file = join(folder, name);
  return {
    file,
    lines: (): string[] => {
      try {
        return readFileSync(file, 'utf8').trim().split('\n');
      } catch {
        return [];
      }
    },
  };
};
const HOLD_MS = 30_000;

describe('a tool that must not run twice', () => {
  it('runs once and gives its result when nothing happens to its worker', async () => {
    const { file, lines } = ledger('calm');
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [['strike', { ledger: file }]] }, { say: 'Tool said: $LAST' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(lines()).toHaveLength(1);
    expect((await app.detail(thread)).items.at(-1)?.detail).toBe('Tool said: Struck.');
  });

  it('has had its effect exactly once when its worker is killed during it, and its outcome is told as unknown to the model and the person', async () => {
    const { file, lines } = ledger('killed');
    const thread = await app.thread();
    const before = app.model.requests().length;
    const turn = await app.turn(thread, [
      { call: [['strike', { ledger: file, holdMs: HOLD_MS }]] },
      { say: 'Model was told: $LAST' },
    ]);
    await until('the effect has happened', () => lines().length > 0);
    app.kill('worker');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(lines()).toHaveLength(1);
    const { items } = await app.detail(thread);
    expect(items.filter((item) => item.kind === 'tool_call')).toMatchObject([
      { status: 'failed', detail: expect.stringContaining('outcome of this call is unknown') },
    ]);
    expect(items.at(-1)?.detail).toMatch(/^Model was told: The outcome of this call is unknown/);
    expect(app.model.requests().length).toBe(before + 2);
    await app.whenReady();
    expect(lines()).toHaveLength(1);
  });

  it('is not run again as a step of a workflow either, whose result says that the outcome is unknown', async () => {
    const { file, lines } = ledger('routine');
    const thread = await app.thread();
    const steps = [{ tool: 'strike', name: 'Strike', args: { ledger: file, holdMs: HOLD_MS } }, 'workflow_list'];
    const turn = await app.turn(thread, [
      { call: [['workflow_create', { name: 'blow', steps }]] },
      { call: [['workflow_run', { workflow: 'blow' }]] },
      { say: 'ok' },
    ]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    await until('the effect has happened', () => lines().length > 0);
    app.kill('worker');
    const result = await until('the result was delivered', () =>
      app.store.db
        .selectFrom('outbox')
        .selectAll()
        .where('thread_id', '=', thread)
        .where('kind', '=', 'result')
        .where('state', '=', 'sent')
        .executeTakeFirst(),
    );
    expect(result.body).toMatch(/^blow did not work: 0 of 2 steps done, step 1 \(Strike\) failed/);
    expect(result.body).toMatch(/The outcome of this step is unknown/);
    expect(lines()).toHaveLength(1);
    await app.whenReady();
  });
});
