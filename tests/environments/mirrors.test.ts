import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { findTask, inState, linesOf, startTask, startTaskApp, workspace } from '../support/kennel-app.ts';
import {
  type FileHost,
  type FolderRegistry,
  startCargoIndex,
  startFileHost,
  startGoProxy,
  startPythonIndex,
} from '../support/language-registries.ts';
import { until } from '../support/until.ts';

/**
 * Package managers of other languages, in the environments of their repositories, at mirrors of the owner: not part of
 * `npm test`, because images are built.
 */

let app: TestApp;
let pip: FolderRegistry;
let go: FolderRegistry;
let cargo: FolderRegistry;
/**
 * where pip and Cargo find files; it is a mirror of another package manager, so that the gate lets a private address
 * through
 */
let files: FileHost;
beforeAll(async () => {
  files = await startFileHost();
  [pip, go, cargo] = [await startPythonIndex(files), await startGoProxy(), await startCargoIndex(files)];
  app = await startTaskApp({ FETCH_KENNEL_MIRRORS: `pip=${pip.url},go=${go.url},cargo=${cargo.url},npm=${files.url}` });
}, 600_000);
afterAll(async () => {
  await app?.close();
  await pip?.close();
  await go?.close();
  await cargo?.close();
  await files?.close();
});

async function project(name: string, files: Record<string, string>): Promise<void> {
  const { path, git } = await workspace(app, name);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  git('add', '.');
  git('commit', '-qm', 'needs left');
}

async function completesAfterOneYes(name: string, goal: string, prompt: string): Promise<string> {
  const { thread, id } = await startTask(app, goal, { workspace: name, timeout: 600_000 });
  const questions = () => app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).execute();
  const [question] = await until(
    'it has asked',
    async () => {
      const { state, reason } = await findTask(app, id);
      if (state === 'failed') throw new Error(`${reason} ${JSON.stringify(await linesOf(app, id)).slice(-2000)}`);
      return (await questions()).length > 0 && (await questions());
    },
    600_000,
  );
  expect(question!.prompt).toBe(prompt);
  await app.say(thread, 'yes');
  await inState(app, id, 'completed', 300_000);
  expect(await questions()).toHaveLength(1);
  return id;
}

const INSTALLS = `run python3 -m venv /tmp/v && /tmp/v/bin/pip install --disable-pip-version-check -q -r requirements.txt && /tmp/v/bin/python -c 'import left, sys\\; sys.exit(left.TEXT != "left")'`;
const RUNS = `run mkdir -p src && echo 'fn main() { print!("{}", left::TEXT)\\; }' > src/main.rs && test "$(cargo run -q)" = left`;

describe('a package manager, after one yes', () => {
  it('pip installs at the first try, with files of a second host', async () => {
    await project('with-pip', { 'requirements.txt': 'left==1.0.0\n' });
    await completesAfterOneYes(
      'with-pip',
      INSTALLS,
      `with-pip is a Python project: may tasks here use its package registry (${pip.at})?`,
    );
    expect([pip.requests, files.requests]).toEqual([['/simple/left/'], ['/files/left-1.0.0-py3-none-any.whl']]);
  });

  it('go builds at the first try', async () => {
    const main =
      'package main\n\nimport (\n\t"fmt"\n\n\t"example.com/left"\n)\n\nfunc main() { fmt.Println(left.Text) }\n';
    await project('with-go', {
      'go.mod': 'module demo\n\ngo 1.20\n\nrequire example.com/left v1.0.0\n',
      'main.go': main,
    });
    await completesAfterOneYes(
      'with-go',
      'run GOFLAGS=-mod=mod go build -o /tmp/demo . && test "$(/tmp/demo)" = left',
      `with-go is a Go project: may tasks here use its package registry (${go.at})?`,
    );
  });

  it('cargo builds at the first try, with files of a second host, and its tests run without a network', async () => {
    const files = {
      'Cargo.toml': '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nleft = "1"\n',
      '.gitignore': 'target\n',
    };
    await project('with-cargo', files);
    const id = await completesAfterOneYes(
      'with-cargo',
      RUNS,
      `with-cargo is a Rust project: may tasks here use its package registry (${cargo.at})?`,
    );
    expect((await findTask(app, id)).result?.tests).toMatchObject({ command: 'cargo test', ok: true });
  });

  it('does the same again in another task, while its registry is away', async () => {
    await Promise.all([pip.close(), cargo.close(), files.close()]);
    for (const [name, goal] of Object.entries({ 'with-pip': INSTALLS, 'with-cargo': RUNS })) {
      const { id } = await startTask(app, goal, { workspace: name, timeout: 600_000 });
      await inState(app, id, 'completed', 300_000);
      expect(await app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).execute()).toEqual([]);
    }
  });
});
