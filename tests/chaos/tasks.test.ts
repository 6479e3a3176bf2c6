import { describe, expect, it } from 'vitest';
import { NO_DOCKER } from '../support/docker.ts';
import { runTaskChaos } from './tasks.ts';

describe.skipIf(NO_DOCKER)('kills while coding tasks run', () => {
  it('end each task once, with its effect in git once, no question lost, and nothing left behind', {
    timeout: 600_000,
  }, async () => {
    const result = await runTaskChaos({ seed: 5, tasks: 6, kills: 8, people: 4, workspaces: 3, maxMinutes: 1.5 });
    expect(result).toMatchObject({ lost: [], doubled: [], stuck: [] });
    expect(result.ended.completed + result.ended.failed + result.ended.cancelled).toBe(6);
    expect(result.kills.length).toBeGreaterThan(3);
  });
});
