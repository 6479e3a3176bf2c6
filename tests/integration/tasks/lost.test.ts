import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { containersOf, inState, linesOf, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';

let app: TestApp;

beforeAll(async () => {
  app = await startTaskApp();
}, 600_000);
afterAll(() => app?.close());

describe('a task whose workflow is gone', () => {
  it('defect 41: is taken up again where it was, without a second container', async () => {
    await workspace(app, 'lost');
    const { id } = await startTask(app, 'append a.txt one; wait 40; append a.txt two', { workspace: 'lost' });
    await until(
      'it waits',
      async () => (await linesOf(app, id)).some((line) => line.type === 'tool' && line.title.includes('wait')),
      60_000,
    );
    const before = containersOf(id);
    const connection = await Connection.connect({ address: app.temporalAddress });
    await clientOf(app, connection).workflow.getHandle(`task/${id}`).terminate();
    await connection.close();
    const task = await inState(app, id, 'completed', 150_000);
    expect(task.step).toBe(1);
    expect(before).toHaveLength(1);
    expect(readFileSync(join(app.home, 'workspaces/lost/a.txt'), 'utf8')).toBe('one\ntwo\n');
  }, 240_000);
});
