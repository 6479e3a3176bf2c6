import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Task } from '../../../src/store/kennel/tasks/tasks.ts';
import type { TestApp } from '../app.ts';
import { inState, linesOf, startTask, workspace } from '../kennel-app.ts';
import type { Repository } from './repositories.ts';

/** Makes the workspace of a repository, with its files committed. */
export async function makeRepository(
  app: TestApp,
  { name, files }: Pick<Repository, 'name' | 'files'>,
): Promise<string> {
  const { path, git } = await workspace(app, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  git('add', '.');
  git('commit', '-qm', 'its files');
  return path;
}

/** One message to the practice agent: it runs the tests. What they printed. */
export async function runsItsTests(
  app: TestApp,
  { name, command }: Repository,
  ms: number,
): Promise<{ task: Task; printed: string }> {
  const { id } = await startTask(app, `run ${command.replaceAll(';', '\\;')}`, { workspace: name });
  const task = await inState(app, id, 'completed', ms);
  return { task, printed: await lastPrinted(app, id) };
}

/** What the last command of a task printed. */
export const lastPrinted = async (app: TestApp, id: string): Promise<string> =>
  (await linesOf(app, id)).flatMap((line) => (line.type === 'tool' ? [line.detail ?? ''] : [])).at(-1) ?? '';
