import { describe, expect, it } from 'vitest';
import { NO_DOCKER } from '../support/docker.ts';
import { runStory } from './run.ts';
import { STORIES } from './stories.ts';
import { pullRequest } from './told/pull-request.ts';

/** The first one is told with kills in tests/chaos/stories.test.ts, which shows everything that it would show here. */

describe.skipIf(NO_DOCKER)('a story on real components', () => {
  it.each(STORIES.filter((story) => story !== pullRequest))('$title', { timeout: 600_000 }, async (story) => {
    expect(await runStory(story)).toMatchObject({ lost: [], doubled: [], stuck: [], askedAgain: 0 });
  });
});
