import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { packSession, readSession } from '../../../src/adapters/sessions/bundle.ts';
import {
  findSession,
  keepSession,
  keptSession,
  placeSession,
  readSessionFile,
} from '../../../src/adapters/sessions/places.ts';
import { CLAUDE_ID, CODEX_ID, claudeSession, codexSession, keptByAgent } from '../../support/session-files.ts';

const bundle = {
  agent: 'claude' as const,
  sessionId: CLAUDE_ID,
  title: 'Make the app two',
  project: 'shop',
  root: '/Users/ada/shop',
  branch: 'main',
  tip: 'a'.repeat(40),
  unfinished: true,
  needs: ['b'.repeat(40)],
  remote: 'https://git.example.com/ada/shop.git',
  session: claudeSession('/Users/ada/shop'),
  work: Buffer.from('a bundle of git').toString('base64'),
};
const whole = JSON.parse(gunzipSync(await packSession(bundle)).toString('utf8')) as Record<string, unknown>;
const changed = (change: object): Buffer => gzipSync(JSON.stringify({ ...whole, ...change }));

const place = mkdtempSync(join(tmpdir(), 'fetch-sessions-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));
let homes = 0;
const newHome = (): string => {
  const home = join(place, `home${++homes}`);
  mkdirSync(home);
  return home;
};

it('what was packed is read again', async () => {
  expect(await readSession(await packSession(bundle))).toEqual(bundle);
});

it.each<[string, Buffer, RegExp]>([
  ['a picture', Buffer.from('\x89PNG'), /was not made by fetch hand-over/],
  ['half a file', gzipSync('x'.repeat(1000)).subarray(0, 20), /is damaged/],
  ['no JSON', gzipSync('a story'), /was not made by fetch hand-over/],
  ['another format', gzipSync('{"format":"other"}'), /was not made by fetch hand-over/],
  ['a newer format', changed({ version: 2 }), /by another release/],
  ['more than a memory has', gzipSync(Buffer.alloc(300 * 1024 * 1024)), /unpacked it has more than 256 MB/],
  ['a log-in beside it', changed({ 'auth.json': '{}' }), /holds more than a session and its work \(auth\.json\)/],
  ['a path for an id', changed({ sessionId: '../../.ssh/authorized_keys' }), /its sessionId is not right/],
  ['an option for a branch', changed({ branch: '--upload-pack=x' }), /its branch is not right/],
  ['a command for a commit', changed({ tip: '$(touch x)' }), /its tip is not right/],
  ['a relative folder', changed({ root: '../x' }), /its root is not right/],
  ['lines in a name', changed({ project: 'a\nb' }), /its project is not right/],
  ['another agent', changed({ agent: 'practice' }), /its agent is not right/],
  ['a session of another agent', changed({ agent: 'codex' }), /is none of this agent/],
  ['no session', changed({ session: 'ssh-rsa AAAA' }), /is none of this agent/],
  ['another session', changed({ sessionId: CODEX_ID }), /the session in it is another one/],
  [
    'a key in the session',
    changed({ session: claudeSession('/Users/ada/shop', `ghp_${'a1B2'.repeat(9)}`) }),
    /looks like a key/,
  ],
])('%s is refused by name', async (_, data, why) => {
  await expect(readSession(data)).rejects.toThrow(why);
});

it('a session lies where its agent looks for it', async () => {
  const home = newHome();
  const root = '/workspace/.git/fetch-worktrees/tsk_1';
  await placeSession(home, 'claude', CLAUDE_ID, { root, text: claudeSession(root) });
  await placeSession(home, 'codex', CODEX_ID, { root, text: codexSession(root) });
  expect(readdirSync(home, { recursive: true })).toEqual(
    expect.arrayContaining([
      `.claude/projects/-workspace--git-fetch-worktrees-tsk-1/${CLAUDE_ID}.jsonl`,
      `.codex/sessions/2026/11/20/rollout-2026-11-20T09-15-30-${CODEX_ID}.jsonl`,
    ]),
  );
  // an earlier state of it stays beside it
  await placeSession(home, 'codex', CODEX_ID, { root, text: `${codexSession(root)}{}\n` });
  const path = (await findSession(home, 'codex', CODEX_ID))!;
  expect([readFileSync(path, 'utf8').endsWith('{}\n'), readFileSync(`${path}.before`, 'utf8')]).toEqual([
    true,
    codexSession(root),
  ]);
});

it('of the HOME of a task its session is kept, and no link is followed', async () => {
  const run = newHome();
  keptByAgent(join(run, 'home'), 'claude', '/workspace', claudeSession('/workspace'));
  mkdirSync(keptSession(run));
  await keepSession(run, 'claude', CLAUDE_ID);
  expect(await readSessionFile(keptSession(run))).toBe(claudeSession('/workspace'));

  const hostile = newHome();
  writeFileSync(join(place, 'secret.jsonl'), 'secret');
  mkdirSync(join(hostile, 'home/.claude'), { recursive: true });
  mkdirSync(join(place, 'elsewhere/x'), { recursive: true });
  writeFileSync(join(place, 'elsewhere/x', `${CLAUDE_ID}.jsonl`), 'secret');
  symlinkSync(join(place, 'elsewhere'), join(hostile, 'home/.claude/projects'));
  await keepSession(hostile, 'claude', CLAUDE_ID);
  expect(readdirSync(hostile)).toEqual(['home']);
  symlinkSync(join(place, 'secret.jsonl'), keptSession(hostile));
  expect(await readSessionFile(keptSession(hostile))).toBeNull();
});
