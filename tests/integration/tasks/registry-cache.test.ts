import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { findTask, inState, linesOf, report, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { dependent, type NpmRegistry, startNpmRegistry } from '../../support/npm-registry.ts';
import { until } from '../../support/until.ts';

/** Whole tasks in real containers whose registry goes away: one on this machine stands in, as a mirror of the owner. */

let app: TestApp;
let named: NpmRegistry;
beforeAll(async () => {
  named = await startNpmRegistry();
  // npm is not told of it, but the gate may reach it
  app = await startTaskApp({ FETCH_KENNEL_MIRRORS: `pip=${named.url}` });
}, 600_000);
afterAll(async () => {
  await app?.close();
  await named?.close();
});

const CI = 'run npm ci --no-audit --no-fund --loglevel=error';
const questionsOf = (id: string) =>
  app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).execute();

describe('a project whose registry is away', () => {
  it('is installed again from the cache of its host, by the address that npm named before', async () => {
    const { path, git } = await workspace(app, 'node-app');
    for (const [file, text] of Object.entries({
      ...dependent,
      '.npmrc': `registry=${named.url}\n`,
      '.gitignore': 'node_modules\n',
    }))
      writeFileSync(join(path, file), text);
    git('add', '.');
    git('commit', '-qm', 'needs left');
    const first = await startTask(app, CI, { workspace: 'node-app' });
    await until('it has asked', async () => {
      const { state, reason } = await findTask(app, first.id);
      if (state === 'failed') throw new Error(`${reason} ${JSON.stringify(await linesOf(app, first.id)).slice(-2000)}`);
      return (await questionsOf(first.id)).length > 0;
    });
    await app.say(first.thread, 'yes');
    await inState(app, first.id, 'completed');
    expect(readFileSync(join(path, 'node_modules/left/index.js'), 'utf8')).toBe('module.exports = "left";\n');
    expect(await report(app, first.id)).toContain(`Reached: ${named.at} (`);

    await named.close();
    rmSync(join(path, 'node_modules'), { recursive: true });
    const again = async () => {
      const { id } = await startTask(app, `${CI}; run npm config get registry`, {
        workspace: 'node-app',
        thread: first.thread,
      });
      await inState(app, id, 'completed');
      expect([existsSync(join(path, 'node_modules/left/index.js')), await questionsOf(id)]).toEqual([true, []]);
      expect(await report(app, id)).not.toContain('Reached:');
      return JSON.stringify(await linesOf(app, id));
    };
    expect(await again()).toContain(named.url);
    // what the project says itself counts more than the cache
    git('rm', '-q', '.npmrc');
    git('commit', '-qm', 'uses the usual one');
    rmSync(join(path, 'node_modules'), { recursive: true });
    expect(await again()).toContain('.http.fetch.internal/');
  });
});
