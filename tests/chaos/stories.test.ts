import { describe, expect, it } from 'vitest';
import { runStory } from '../stories/run.ts';
import { pullRequest } from '../stories/told/pull-request.ts';
import { NO_DOCKER } from '../support/docker.ts';

describe.skipIf(NO_DOCKER)('every role killed between every two steps of a story', () => {
  it('loses nothing and does nothing twice: a project, a task with its question, an approval, a pull request', {
    timeout: 400_000,
  }, async () => {
    const { killed, steps, ...findings } = await runStory(pullRequest, { kills: true });
    expect(findings).toMatchObject({ lost: [], doubled: [], stuck: [] });
    // some may be between two starts at a kill
    expect(Object.values(killed).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(2 * steps);
  });
});
