import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { REPOSITORIES } from '../support/environments/repositories.ts';
import { makeRepository, runsItsTests } from '../support/environments/run.ts';
import { startTaskApp } from '../support/kennel-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp();
}, 600_000);
afterAll(() => app?.close());

const BUILD_MS = 10 * 60_000;

describe('a repository', () => {
  it.each(REPOSITORIES)(
    '$name runs its tests after one message',
    async (repository) => {
      await makeRepository(app, repository);
      const { task, printed } = await runsItsTests(app, repository, BUILD_MS);
      expect(printed).toMatch(repository.passes);
      const began = Date.now();
      await runsItsTests(app, repository, 60_000);
      const seconds = (since: number, until: number) => ((until - since) / 1000).toFixed(1);
      console.log(
        `${repository.name} | ${seconds(task.created_at.getTime(), task.ended_at!.getTime())} s | ${seconds(began, Date.now())} s`,
      );
    },
    BUILD_MS,
  );
});
