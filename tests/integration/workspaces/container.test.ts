import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WorkspaceAnswer, WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
import { author, Workspace } from './program.ts';

/** An image of the kennel, whichever was built last; empty when there is no engine or none was built. */
const image =
  spawnSync('docker', ['images', '--filter', 'reference=fetch-kennel', '--format', '{{.Repository}}:{{.Tag}}'], {
    encoding: 'utf8',
  }).stdout?.split('\n')[0] ?? '';
const path = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

let w: Workspace;
beforeEach(() => {
  w = new Workspace();
  chmodSync(w.base, 0o755);
});
afterEach(() => w.remove());

/** The program as the kennel runs it: an ordinary user, no network, and only the workspace to write to. */
function inContainer(op: WorkspaceOp): WorkspaceAnswer {
  const user = process.getuid!() === 0 ? '1000:1000' : `${process.getuid!()}:${process.getgid!()}`;
  if (process.getuid!() === 0) spawnSync('chown', ['-R', user, w.root, w.side]);
  const mounts = [
    `${w.root}:/workspace`,
    `${w.side}:/run/fetch-side`,
    `${path('kennel')}:/opt/fetch/kennel:ro`,
    `${path('src/contracts')}:/opt/fetch/src/contracts:ro`,
  ];
  const walls = [
    '--network=none',
    '--read-only',
    '--tmpfs=/tmp',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    '--memory=512m',
    '--pids-limit=128',
    `--user=${user}`,
  ];
  const args = [
    'run',
    '--rm',
    '-i',
    ...walls,
    ...mounts.flatMap((mount) => ['-v', mount]),
    image,
    'node',
    '/opt/fetch/kennel/workspace/main.ts',
  ];
  const ran = spawnSync('docker', args, { input: JSON.stringify(op), encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(ran.stderr);
  return JSON.parse(ran.stdout) as WorkspaceAnswer;
}

test.skipIf(image === '')('in its container a workspace is created, searched by ripgrep, concluded and undone', () => {
  expect(inContainer({ op: 'create', template: 'node', name: 'app', description: 'x', git: true, author }).ok).toBe(
    true,
  );
  w.write({ 'wip\nodd.txt': 'needle\n' });
  const found = inContainer({ op: 'search', pattern: 'n\\w{4}e$', regex: true, path: '.', limit: 5 });
  expect(found.output).toBe('wip\\nodd.txt:1: needle');
  const before = w.files();
  expect(inContainer({ op: 'checkpoint', key: 't1', author }).data).toMatchObject({ branch: 'main', dirty: 1 });
  expect(inContainer({ op: 'write', path: 'src/new.js', content: 'x\n' }).ok).toBe(true);
  expect(
    inContainer({ op: 'conclude', key: 't1', message: 'Task', author, keepOnBranchOnly: false }).data,
  ).toMatchObject({ branch: 'main', added: 1 });
  expect(inContainer({ op: 'undo', what: 'one', author })).toMatchObject({ ok: true });
  expect(w.files()).toEqual(before);
});

test.skipIf(image === '')('in its container a folder without a repository is kept beside it', () => {
  w.write({ 'a.txt': 'a\n' });
  expect(inContainer({ op: 'checkpoint', key: 't1', author }).data).toMatchObject({ kept: 'beside' });
  w.write({ 'a.txt': 'b\n' });
  inContainer({ op: 'conclude', key: 't1', message: 'Task', author, keepOnBranchOnly: false });
  inContainer({ op: 'undo', what: 'one', author });
  expect(w.files()).toEqual({ 'a.txt': '- a\n' });
});
