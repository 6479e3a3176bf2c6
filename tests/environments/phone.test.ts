import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { script } from '../support/app.ts';
import { requireDocker } from '../support/docker.ts';
import { containersOf, findTask, inState, kennelReady, linesOf } from '../support/kennel-app.ts';
import {
  type FolderRegistry,
  mavenProject,
  startCargoIndex,
  startMavenFolder,
  startPythonIndex,
} from '../support/language-registries.ts';
import { type LimitedEndpoint, MODEL_CALLER, startLimitedEndpoint } from '../support/limited-endpoint.ts';
import { until } from '../support/until.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../support/whatsapp-app.ts';

/**
 * What somebody does from the phone with repositories of their own: not part of `npm test`, because images are built.
 */

const BUILD_MS = 15 * 60_000;

let whatsapp: WhatsAppApp;
let ann: Contact;
let endpoint: LimitedEndpoint;
let cargo: FolderRegistry;
let maven: FolderRegistry;
let stranger: FolderRegistry;
let folder: string;
beforeAll(async () => {
  await requireDocker();
  folder = mkdtempSync(join(tmpdir(), 'fetch-own-'));
  [endpoint, cargo, maven, stranger] = [
    await startLimitedEndpoint(),
    await startCargoIndex(),
    await startMavenFolder(),
    await startPythonIndex(),
  ];
  whatsapp = await startWhatsAppApp((fixture) => {
    ann = fixture.contact('Ann');
    return {
      WHATSAPP_NUMBER: 'dedicated',
      OWNER_PHONE_NUMBER: ann.pn.split('@')[0]!,
      FETCH_AUTONOMY: 'autonomous',
      ANTHROPIC_BASE_URL: endpoint.url,
      FETCH_PROGRESS_SECONDS: '3600',
      FETCH_KENNEL_MIRRORS: `cargo=${cargo.url},maven=${maven.url},pip=${stranger.url}`,
    };
  });
  await kennelReady(whatsapp.app);
}, BUILD_MS);
afterAll(async () => {
  await whatsapp?.close();
  for (const server of [endpoint, cargo, maven, stranger]) await server?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** A repository in a folder of one's own. */
function repository(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name);
  for (const [file, text] of Object.entries({ ...files, 'ask.mjs': MODEL_CALLER })) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], { cwd: path });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'mine');
  return path;
}

/** What the phone has received since the last look, once some of it is like this. */
let seen = 0;
const shown = async (like: RegExp, ms = BUILD_MS): Promise<string> => {
  const found = await until(
    `the phone shows ${like}`,
    () => {
      const at = ann.received.findIndex(({ text }, index) => index >= seen && like.test(text ?? ''));
      return at >= 0 && { at, text: ann.received[at]!.text! };
    },
    ms,
  ).catch((error) => {
    throw new Error(`${error.message}; it showed:\n${ann.received.map(({ text }) => text).join('\n---\n')}`);
  });
  seen = found.at + 1;
  return found.text;
};
const task = async (workspace: string) =>
  await until('the task is there', () =>
    whatsapp.app.store.db
      .selectFrom('tasks')
      .select('id')
      .where('workspace', '=', workspace)
      .orderBy('created_at', 'desc')
      .executeTakeFirst(),
  );
const starts = (goal: string, workspace: string, plan: boolean) =>
  ann.send(
    script([
      { call: [['task_create', { goal, agent: 'practice', workspace, plan, timeout: 1_800_000 }]] },
      { say: '$LAST' },
    ]),
  );

it(
  'a Rust project is brought in, planned and planned again twice, allowed one host once, and goes on after a limit',
  async () => {
    const path = repository('sums', {
      'Cargo.toml': '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nleft = "1"\n',
      'src/lib.rs':
        'pub fn left() -> &\'static str {\n    left::TEXT\n}\n\n#[test]\nfn is_left() {\n    assert_eq!(left(), "left");\n}\n',
      '.gitignore': 'target\n',
    });
    await ann.send(`open ${path}`);
    await shown(/Copy the repository .*sums/);
    await ann.send('yes');
    await shown(/Brought in sums/);

    const fetches = `run node -e 'require("http").get({ host: "127.0.0.1", port: 4011, path: "${stranger.url}/left/" }, (a) => process.exit(a.statusCode === 200 ? 0 : 3))'`;
    await starts(
      `write notes.md first; run cargo test -q; ${fetches}; run node ask.mjs; append notes.md last`,
      'sums',
      true,
    );
    const first = await shown(/has a plan/);
    expect(first).toMatch(/Nothing is changed before your yes/);
    const { id } = await task('sums');
    await ann.send('without 1');
    expect(await shown(/has a plan/)).not.toMatch(/^.*1\. write notes/m);
    await ann.send('write done.md done');
    expect(await shown(/has a plan/)).toContain('done.md');
    endpoint.refuse({ status: 429, headers: { 'retry-after': '40' }, forMs: 40_000 });
    await ann.send('yes');

    await shown(/Rust project: may tasks here use its package registry/);
    await ann.send('yes');
    await shown(new RegExp(`wants ${stranger.at}`));
    await ann.send('once');
    const limit = await shown(/is at its limit until/);
    expect(limit).toMatch(/I go on then/);
    expect(containersOf(id)).toEqual([]);
    await shown(/done\.md/);
    const done = await inState(whatsapp.app, id, 'completed', 120_000);
    expect(done.result?.tests).toMatchObject({ command: 'cargo test', ok: true });
    expect(done.result?.changes?.files.map((file) => file.path).sort()).toEqual([
      'Cargo.lock',
      'answers.txt',
      'done.md',
      'notes.md',
    ]);
    const ran = (await linesOf(whatsapp.app, id)).flatMap((line) =>
      line.type === 'tool' && line.status === 'completed' ? [line.title] : [],
    );
    expect(ran.filter((title) => title.includes('cargo test'))).toHaveLength(1);
    // the folder itself is as it was
    expect(existsSync(join(path, 'done.md'))).toBe(false);
  },
  BUILD_MS * 2,
);

it(
  'a Java project is brought in, and its package is made after one yes, with a limit in the middle',
  async () => {
    const path = repository('shop', { ...mavenProject, '.gitignore': 'target\n' });
    await ann.send(`open ${path}`);
    await shown(/Copy the repository .*shop/);
    await ann.send('yes');
    await shown(/Brought in shop/);
    endpoint.refuse({ status: 429, headers: { 'retry-after': '40' }, forMs: 40_000 });
    await starts('run node ask.mjs; run mvn -B -q package && test -e target/demo-1.0.0.jar', 'shop', false);
    await shown(/Java project: may tasks here use its package registry/);
    await ann.send('yes');
    await shown(/is at its limit until/);
    const { id } = await task('shop');
    const { result } = await inState(whatsapp.app, id, 'completed', BUILD_MS);
    expect(result?.changes?.files.map((file) => file.path)).toEqual(['answers.txt']);
    expect((await findTask(whatsapp.app, id)).state).toBe('completed');
  },
  BUILD_MS * 2,
);
