import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kill, type Victim } from '../chaos/killer.ts';
import { seeded } from '../chaos/random.ts';
import type { TestApp } from '../support/app.ts';
import { containersOf, findTask, inState, linesOf, startTask, startTaskApp, workspace } from '../support/kennel-app.ts';
import {
  type FolderRegistry,
  mavenProject,
  startCargoIndex,
  startGoProxy,
  startMavenFolder,
  startPythonIndex,
} from '../support/language-registries.ts';
import { dependent, type NpmRegistry, startNpmRegistry } from '../support/npm-registry.ts';
import { until } from '../support/until.ts';

/**
 * Five package managers whose one question is answered late, after everything was killed: not part of `npm test`,
 * because images are built.
 */

interface Project {
  files: Readonly<Record<string, string>>;
  goal: string;
}

const GO_MAIN =
  'package main\n\nimport (\n\t"fmt"\n\n\t"example.com/left"\n)\n\nfunc main() { fmt.Println(left.Text) }\n';
const PROJECTS: Record<string, Project> = {
  npm: { files: dependent, goal: 'run npm ci --no-audit --no-fund --loglevel=error && node -e "require(\'left\')"' },
  pip: {
    files: { 'requirements.txt': 'left==1.0.0\n' },
    goal: "run python3 -m venv /tmp/v && /tmp/v/bin/pip install --disable-pip-version-check -q -r requirements.txt && /tmp/v/bin/python -c 'import left'",
  },
  go: {
    files: { 'go.mod': 'module demo\n\ngo 1.20\n\nrequire example.com/left v1.0.0\n', 'main.go': GO_MAIN },
    goal: 'run GOFLAGS=-mod=mod go build -o /tmp/demo . && test "$(/tmp/demo)" = left',
  },
  cargo: {
    files: {
      'Cargo.toml': '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nleft = "1"\n',
      'src/main.rs': 'fn main() {\n    print!("{}", left::TEXT)\n}\n',
      '.gitignore': 'target\n',
    },
    goal: 'run test "$(cargo run -q)" = left',
  },
  maven: {
    files: { ...mavenProject, '.gitignore': 'target\n' },
    goal: 'run mvn -B -q package && test -e target/demo-1.0.0.jar',
  },
};
const VICTIMS: readonly Victim[] = ['worker', 'gateway', 'api', 'kennel', 'postgres', 'temporal', 'supervisor'];
const BUILD_MS = 15 * 60_000;

let app: TestApp;
let registries: Record<string, FolderRegistry | NpmRegistry> = {};
beforeAll(async () => {
  registries = {
    npm: await startNpmRegistry(),
    pip: await startPythonIndex(),
    go: await startGoProxy(),
    cargo: await startCargoIndex(),
    maven: await startMavenFolder(),
  };
  const mirrors = Object.entries(registries).map(([manager, { url }]) => `${manager}=${url}`);
  app = await startTaskApp({ FETCH_KENNEL_MIRRORS: mirrors.join(','), FETCH_SEPARATE_PROCESSES: 'true' });
}, 900_000);
afterAll(async () => {
  await app?.close();
  for (const registry of Object.values(registries)) await registry.close();
});

it('npm, pip, Go, Cargo and Maven work at the first try after one yes, which comes three days and ten kills later', async () => {
  const made = [];
  for (const [manager, { files, goal }] of Object.entries(PROJECTS)) {
    const { path, git } = await workspace(app, `with-${manager}`);
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), text);
    }
    git('add', '.');
    git('commit', '-qm', 'needs packages');
    made.push({ manager, ...(await startTask(app, goal, { workspace: `with-${manager}`, timeout: 1_200_000 })) });
  }
  const questionsOf = (id: string) =>
    app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).execute();
  for (const { manager, id } of made)
    await until(
      `${manager} has asked`,
      async () => {
        const { state, reason } = await findTask(app, id);
        if (state === 'failed')
          throw new Error(`${manager}: ${reason} ${JSON.stringify(await linesOf(app, id)).slice(-2000)}`);
        return (await questionsOf(id)).length > 0;
      },
      BUILD_MS,
    );
  expect(made.flatMap(({ id }) => containersOf(id))).toEqual([]);

  const random = seeded(3);
  for (let done = 0; done < 10; ) if (await kill(app, random.pick(VICTIMS))) done += 1;
  await app.whenReady();
  await app.stop();
  await app.start();
  await sql`update questions set asked_at = asked_at - interval '3 days' where task_id is not null`.execute(
    app.store.db,
  );
  await sql`update tasks set created_at = created_at - interval '3 days'`.execute(app.store.db);

  for (const { thread } of made) expect((await app.say(thread, 'yes')).kind).toBe('answer');
  for (const { manager, id } of made) {
    const { step } = await inState(app, id, 'completed', 600_000);
    expect([manager, step, (await questionsOf(id)).map(({ prompt }) => prompt)]).toEqual([
      manager,
      1,
      [expect.stringContaining(registries[manager]!.at)],
    ]);
  }
}, 2_400_000);
