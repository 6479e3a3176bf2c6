import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { REPOSITORIES, type Repository } from '../../support/environments/repositories.ts';
import { lastPrinted, makeRepository, runsItsTests } from '../../support/environments/run.ts';
import { inState, report, startTask, startTaskApp } from '../../support/kennel-app.ts';

// the other repositories are run by `npm run test-environments`
let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp();
}, 600_000);
afterAll(() => app?.close());

const BUILD_MS = 8 * 60_000;
const repository = (name: string): Repository => REPOSITORIES.find((each) => each.name === name)!;

describe('the environment of a repository', () => {
  it(
    'has what the tests of a Go project need: in a task, in its report, and in a command of the chat',
    async () => {
      const go = repository('devcontainer-features');
      await makeRepository(app, go);
      expect((await runsItsTests(app, go, BUILD_MS)).printed).toMatch(go.passes);
      const { id } = await startTask(app, 'write note.txt hello', { workspace: go.name });
      // Go compiles its library first
      await inState(app, id, 'completed', BUILD_MS);
      expect(await report(app, id)).toContain('Tests pass (`go test ./...`)');
      const thread = await app.thread({ allow_shell: true });
      const turn = await app.turn(thread, [{ call: [['shell_run', { command: 'go version && id -u', workspace: go.name }]] }, { say: '$LAST' }]);
      await app.ended(thread, turn);
      expect((await app.detail(thread)).items.at(-1)!.detail).toMatch(/go version go1\.\d+[\s\S]*1000/);
    },
    BUILD_MS,
  );

  it(
    'says once in a task which version it got instead, and which line of a devcontainer it refused',
    async () => {
      const name = 'refused';
      const path = await makeRepository(app, {
        name,
        files: {
          'pyproject.toml': '[project]\nrequires-python = ">=3.13"\n',
          '.devcontainer.json': '{\n  "image": "debian:12",\n  "runArgs": ["--privileged"]\n}\n',
        },
      });
      const { id } = await startTask(app, 'run python --version && pip --version', { workspace: name });
      const task = await inState(app, id, 'completed', BUILD_MS);
      const notice = await app.store.db.selectFrom('outbox').select('body').where('id', '=', `out_${id}_environment`).executeTakeFirstOrThrow();
      expect(notice.body).toContain('pyproject.toml asks for Python >=3.13; this task gets Python 3.11.');
      expect(notice.body).toContain('.devcontainer.json, line 3: "runArgs": ["--privileged"]');
      expect(task.result?.tests ?? null).toBeNull();
      // corrected, it is read again
      writeFileSync(join(path, 'pyproject.toml'), '[project]\nrequires-python = ">=3.9"\n');
      writeFileSync(join(path, '.devcontainer.json'), '{}\n');
      const second = await startTask(app, 'run python -m venv /tmp/v', { workspace: name });
      await inState(app, second.id, 'completed');
      expect(await app.store.db.selectFrom('outbox').select('body').where('id', '=', `out_${second.id}_environment`).execute()).toEqual([]);
    },
    BUILD_MS,
  );

  it(
    'is built with steps of the repository after a yes, once for all tasks that want the same; after a no it is ours',
    async () => {
      const mark = `mark-${Date.now()}`;
      const devcontainer = (line: string) => ({
        '.devcontainer/devcontainer.json': `{ "build": { "dockerfile": "Dockerfile", "args": { "MARK": "${line}" } }, "postCreateCommand": "echo prepared > $HOME/prepared" }\n`,
        '.devcontainer/Dockerfile': 'FROM node:24-bookworm-slim\nARG MARK\nRUN echo "$MARK" > /etc/mark\nENV PATH=/opt/own:$PATH\n',
      });
      const goal = 'run cat /etc/mark $HOME/prepared \\; echo $PATH';
      await makeRepository(app, { name: 'agreed', files: devcontainer(mark) });
      const { id, thread } = await startTask(app, goal, { workspace: 'agreed' });
      await inState(app, id, 'waiting', BUILD_MS);
      const asked = (await app.detail(thread)).pending_approvals[0]!;
      expect(JSON.stringify(asked)).toContain('May .devcontainer/devcontainer.json of agreed bring its own image or commands?');
      expect(JSON.stringify(asked)).toMatch(/FROM node:24-bookworm-slim[\s\S]*RUN echo[\s\S]*echo prepared/);
      expect((await app.say(thread, 'yes')).kind).toBe('answer');
      await inState(app, id, 'completed', BUILD_MS);
      expect(await lastPrinted(app, id)).toMatch(new RegExp(`${mark}\\nprepared\\n/opt/environment/bin:.*:/opt/own:`));
      // another workspace with the same files is not asked about
      await makeRepository(app, { name: 'agreed-too', files: devcontainer(mark) });
      const second = await startTask(app, goal, { workspace: 'agreed-too' });
      await inState(app, second.id, 'completed', BUILD_MS);
      expect(await lastPrinted(app, second.id)).toContain('prepared');
      // anything else is
      await makeRepository(app, { name: 'other', files: devcontainer(`${mark}-other`) });
      const third = await startTask(app, 'run test ! -e /etc/mark && echo ours', { workspace: 'other' });
      await inState(app, third.id, 'waiting');
      expect((await app.say(third.thread, 'no')).kind).toBe('answer');
      await inState(app, third.id, 'completed', BUILD_MS);
      expect(await lastPrinted(app, third.id)).toContain('ours');
    },
    BUILD_MS,
  );
});
