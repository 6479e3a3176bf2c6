import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { containersOf, inState, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';

/** More than any disk of today has. */
const ALL_OF_IT = '1000000000';

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp({ FETCH_KENNEL_FREE_MB: ALL_OF_IT });
}, 600_000);
afterAll(async () => await app?.close());

describe('a coding task on a host whose disk is nearly full', () => {
  it('is ended before there is no room for anything else, and says why', async () => {
    const { git } = await workspace(app, 'crowded');
    const { id } = await startTask(app, 'write kept.txt kept; wait 600', { workspace: 'crowded' });
    const task = await inState(app, id, 'failed');
    expect(task.reason).toMatch(/^The disk of the host has \d+ MB left, and 1000000000 MB must stay free\.$/);
    expect(containersOf(id)).toEqual([]);
    expect(git('log', '--format=%s', 'main')).toBe('first');
  });
});
