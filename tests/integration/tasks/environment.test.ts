import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import { loadConfig } from '../../../src/config.ts';
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

const BUILD_MS = 15 * 60_000;
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
      expect(await report(app, id)).toContain(', tests pass');
      const thread = await app.thread({ allow_shell: true });
      const turn = await app.turn(thread, [
        { call: [['shell_run', { command: 'go version && id -u', workspace: go.name }]] },
        { say: '$LAST' },
      ]);
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
      const notice = await app.store.db
        .selectFrom('outbox')
        .select('body')
        .where('id', '=', `out_${id}_environment`)
        .executeTakeFirstOrThrow();
      expect(notice.body).toContain('pyproject.toml asks for Python >=3.13; this task gets Python 3.11.');
      expect(notice.body).toContain('.devcontainer.json, line 3: "runArgs": ["--privileged"]');
      expect(task.result?.tests ?? null).toBeNull();
      // corrected, it is read again
      writeFileSync(join(path, 'pyproject.toml'), '[project]\nrequires-python = ">=3.9"\n');
      writeFileSync(join(path, '.devcontainer.json'), '{}\n');
      const second = await startTask(app, 'run python -m venv /tmp/v', { workspace: name });
      await inState(app, second.id, 'completed');
      expect(
        await app.store.db
          .selectFrom('outbox')
          .select('body')
          .where('id', '=', `out_${second.id}_environment`)
          .execute(),
      ).toEqual([]);
    },
    BUILD_MS,
  );

  it(
    'is built with steps of the repository after a yes, once for all tasks that want the same; after a no it is ours',
    async () => {
      // the same in each run, so that Docker has the layers of a foreign base; the next test builds new ones
      const mark = 'agreed';
      const devcontainer = (line: string) => ({
        '.devcontainer/devcontainer.json': `{ "build": { "dockerfile": "Dockerfile", "args": { "MARK": "${line}" } }, "postCreateCommand": "echo prepared > $HOME/prepared" }\n`,
        '.devcontainer/Dockerfile':
          'FROM node:24-bookworm-slim\nARG MARK\nRUN echo "$MARK" > /etc/mark\nENV PATH=/opt/own:$PATH\n',
      });
      const goal = 'run cat /etc/mark $HOME/prepared \\; echo $PATH';
      await makeRepository(app, { name: 'agreed', files: devcontainer(mark) });
      const { id, thread } = await startTask(app, goal, { workspace: 'agreed' });
      await inState(app, id, 'waiting', BUILD_MS);
      const asked = (await app.detail(thread)).pending_approvals[0]!;
      expect(JSON.stringify(asked)).toContain(
        'May .devcontainer/devcontainer.json of agreed bring its own image or commands?',
      );
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

  it(
    'gets the files that its Dockerfile copies, asks again when one of them is another, and not for the rest of the repository',
    async () => {
      const mark = `mark-${Date.now()}`;
      // a base that has what the kennel installs: two builds with nothing to install
      const base = await openKennel(loadConfig()).images.provide('tools');
      const path = await makeRepository(app, {
        name: 'copies',
        files: {
          '.devcontainer/devcontainer.json': '{ "build": { "dockerfile": "Dockerfile", "context": ".." } }\n',
          '.devcontainer/Dockerfile': `FROM ${base}\nUSER root\nCOPY needs*.txt tools /opt/copied/\nRUN bash /opt/copied/install.sh\n`,
          'needs.txt': `${mark}\n`,
          'tools/install.sh': 'cp /opt/copied/needs.txt /etc/installed\n',
          '.dockerignore': '**/*.key\n',
          'tools/private.key': 'key',
          'source.txt': '1\n',
        },
      });
      const goal = 'run cat /etc/installed \\; ls /opt/copied';
      const { id, thread } = await startTask(app, goal, { workspace: 'copies' });
      await inState(app, id, 'waiting', BUILD_MS);
      expect(JSON.stringify((await app.detail(thread)).pending_approvals[0]!)).toMatch(
        /copies these files of the repository, as they are now:[\s\S]*needs\.txt \(19 bytes\)[\s\S]*tools\/install\.sh/,
      );
      await app.say(thread, 'yes');
      await inState(app, id, 'completed', BUILD_MS);
      expect(await lastPrinted(app, id)).toContain(`${mark}\ninstall.sh\nneeds.txt`);
      // what is not copied makes no other image and no question
      writeFileSync(join(path, 'source.txt'), '2\n');
      writeFileSync(join(path, 'tools/private.key'), 'another');
      const second = await startTask(app, goal, { workspace: 'copies' });
      await inState(app, second.id, 'completed');
      writeFileSync(join(path, 'needs-more.txt'), `${mark}-more\n`);
      const third = await startTask(app, goal, { workspace: 'copies' });
      await inState(app, third.id, 'waiting');
      expect(JSON.stringify((await app.detail(third.thread)).pending_approvals[0]!)).toContain('needs-more.txt');
      await app.say(third.thread, 'yes');
      await inState(app, third.id, 'completed', BUILD_MS);
      expect(await lastPrinted(app, third.id)).toContain('needs-more.txt');
    },
    BUILD_MS,
  );

  it(
    'takes no file from elsewhere through its Dockerfile, and not more than it may, and says which line wants that',
    async () => {
      const path = await makeRepository(app, {
        name: 'takes',
        files: {
          '.devcontainer/devcontainer.json': '{ "build": { "dockerfile": "Dockerfile", "context": ".." } }\n',
          '.devcontainer/Dockerfile':
            'FROM node:24-bookworm-slim\nCOPY passwd /\nCOPY large /\nCOPY ../beside /\nADD https://example.com/x /\n',
          large: '',
        },
      });
      symlinkSync('/etc/passwd', join(path, 'passwd'));
      truncateSync(join(path, 'large'), 40_000_000);
      const { id } = await startTask(app, 'write note.txt hello', { workspace: 'takes' });
      await inState(app, id, 'completed', BUILD_MS);
      const notice = await app.store.db
        .selectFrom('outbox')
        .select('body')
        .where('id', '=', `out_${id}_environment`)
        .executeTakeFirstOrThrow();
      const refused = [
        /Dockerfile, line 2: COPY passwd \/\n> .*leads out of the workspace/,
        /Dockerfile, line 3: COPY large \/\n> It would copy too much\. A Dockerfile may copy 2000 files of together 32 MB/,
        /Dockerfile, line 4: COPY \.\.\/beside \/\n> This path leads out of the folder/,
        /Dockerfile, line 5: ADD https.*\n> It would load a file from elsewhere/,
      ];
      for (const line of refused) expect(notice.body).toMatch(line);
    },
    BUILD_MS,
  );
});
