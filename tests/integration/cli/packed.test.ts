import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { isBuiltin } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IMAGE_KINDS, imageBuild } from '../../../src/adapters/kennel/images/image-files.ts';
import { childEnvironment } from '../../../src/config.ts';
import { FETCH_SETTING, startTestApp } from '../../support/app.ts';
import { type Installed, installPacked } from '../../support/installed.ts';
import { pdf } from '../../support/pdf.ts';
import { until } from '../../support/until.ts';

/**
 * What `npm pack` makes, installed globally by npm: built JavaScript, because Node strips no types below
 * `node_modules`.
 */

const ours = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name)));
const clone = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const manifest = JSON.parse(clone('package.json')) as { version: string; dependencies: Record<string, string> };

let installed: Installed;
beforeAll(async () => {
  installed = await installPacked();
}, 600_000);
// tens of thousands of files: minutes on a busy disk
afterAll(() => installed?.remove(), 600_000);

const fetchCommand = (args: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(installed.bin, args, { env: { ...ours, ...env } });

describe('the packed file', () => {
  it('holds what runs and what images are made of, no test and no bundle of the clone', () => {
    for (const path of [
      'bin/fetch.js',
      'dist/bundle/main.js',
      'dist/bundle/main.js.map',
      'dist/bundle/licences.txt',
      'dist/src/workflows/index.js',
      'dist/temporal/build/go.sum',
      'dist/workflows/unversioned.js',
      'dist/workflows/versioned.js',
      'LICENSE',
      '.env.example',
    ])
      expect(installed.files).toContain(path);
    for (const path of [
      'kennel/Dockerfile',
      'kennel/package-lock.json',
      'kennel/runner/main.ts',
      'kennel/templates/node/_gitignore',
      'src/contracts/kennel.ts',
    ])
      expect(installed.files).toContain(path);
    const others = /^(tests|scripts|src\/(?!contracts\/)|dist\/bundles)|node_modules/;
    expect(installed.files.filter((path) => others.test(path))).toEqual([]);
  });

  it('depends on every package that its code imports', () => {
    const imported = readdirSync(join(installed.root, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.js'))
      .flatMap((path) => [
        ...readFileSync(join(installed.root, 'dist', path), 'utf8').matchAll(
          /(?:^import |^\} |import\()(?:[^'"\n]{0,400} ?from )?['"]((?:@[\w.-]+\/)?[\w.-]+)/gm,
        ),
      ])
      .map(([, name]) => name!)
      .filter((name) => !name.startsWith('.') && !isBuiltin(name) && name !== 'node');
    expect(imported).toContain('@temporalio/worker');
    expect([...new Set(imported)].filter((name) => !(name in manifest.dependencies))).toEqual([]);
  });
});

describe('the installed package', () => {
  it('says its version', async () => {
    expect((await fetchCommand(['--version'])).stdout).toBe(`${manifest.version}\n`);
  });

  it('names the line of the source where it breaks', async () => {
    const preload = join(installed.root, '..', 'break.mjs');
    writeFileSync(preload, 'process.stdout.write = () => { throw new TypeError("broken on purpose"); };');
    const broken = await fetchCommand(['--version'], { NODE_OPTIONS: `--import=${preload}` }).catch(
      (error: { stderr: string }) => error,
    );
    expect(broken.stderr).toMatch(/^TypeError: broken on purpose$/m);
    const line = /src\/cli\/main\.ts:(\d+):/.exec(broken.stderr)?.[1];
    expect(clone('src/cli/main.ts').split('\n')[Number(line) - 1]).toContain('program.parseAsync()');
  });

  it('starts, answers over HTTP, reads a page in a thread and a PDF in a process, and stops', async () => {
    const page = createServer((_, response) =>
      response
        .setHeader('content-type', 'text/html')
        .end('<title>T</title><main><p>Word of the day: quokka.</p></main>'),
    );
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    const app = await startTestApp({}, { entry: installed.bin });
    try {
      const thread = await app.thread();
      const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`;
      const turn = await app.turn(thread, [{ call: [['web_fetch', { url }]] }, { say: 'It says: $LAST' }]);
      expect(await app.ended(thread, turn)).toMatchObject({ status: 'completed' });
      const said = (await app.detail(thread)).items.filter((item) => item.kind === 'agent_message');
      expect(JSON.stringify(said)).toContain('quokka');

      const { pdfText } = (await import(
        join(installed.root, 'dist/src/adapters/pdf/pdf.js')
      )) as typeof import('../../../src/adapters/pdf/pdf.ts');
      expect(await pdfText(pdf(['Invoice 4711']), new AbortController().signal)).toContain('Invoice 4711');

      await fetchCommand(['stop'], { FETCH_HOME: app.home });
      await until('the instance has ended', () => app.supervisor().exitCode !== null);
      expect(app.supervisor().exitCode).toBe(0);
    } finally {
      await app.close();
      page.close();
    }
  });

  it('makes the images of the clone: containers run the same files', async () => {
    const ours = (await import(
      join(installed.root, 'dist/src/adapters/kennel/images/image-files.js')
    )) as typeof import('../../../src/adapters/kennel/images/image-files.ts');
    const user = { uid: 1000, gid: 1000 };
    for (const kind of IMAGE_KINDS) expect(ours.imageBuild(kind, 'base', user)).toEqual(imageBuild(kind, 'base', user));
  });

  it('goes on with runs that the sources began: recorded histories replay on its workflow code', async () => {
    const { cachedWorkflowBundle } = (await import(
      join(installed.root, 'dist/src/cli/roles/temporal/workflow-bundle.js')
    )) as typeof import('../../../src/cli/roles/temporal/workflow-bundle.ts');
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    const workflowBundle = await cachedWorkflowBundle('/nowhere');
    const histories = [
      'conversation-continued',
      'conversation-question-answered',
      'routine-completed',
      'task-parked',
    ].map((name) => {
      const { workflowId, events } = JSON.parse(clone(`tests/replay/histories/0.1.0/${name}.json`));
      return { workflowId, history: { events } };
    });
    const failed: unknown[] = [];
    for await (const { error } of Worker.runReplayHistories({ workflowBundle }, histories))
      if (error) failed.push(error);
    expect(failed).toEqual([]);
  });
});
