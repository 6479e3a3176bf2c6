import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FetchedPackages } from '../../../src/adapters/kennel/fetched.ts';

let base: string;
let home: string;
let workspace: string;
let fetched: FetchedPackages;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'fetch-fetched-'));
  home = join(base, 'home');
  workspace = join(base, 'w');
  mkdirSync(workspace);
  fetched = new FetchedPackages(join(base, 'fetch'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

it('keeps the packages of a task for its workspace, and nothing else of its HOME', async () => {
  expect(await fetched.of(workspace)).toBeNull();
  write(join(home, '.m2/repository/a.jar'), 'jar');
  write(join(home, '.npmrc'), 'script-shell=/bin/true');
  write(join(home, '.cache/go-build/x'), 'a result');
  await fetched.keep(workspace, home);
  const kept = (await fetched.of(workspace))!;
  expect(readFileSync(join(kept, '.m2/repository/a.jar'), 'utf8')).toBe('jar');
  expect([existsSync(join(kept, '.npmrc')), existsSync(join(kept, '.cache'))]).toEqual([false, false]);
  expect(await fetched.of(join(base, 'other'))).toBeNull();
  // a task that fetched nothing takes nothing away
  await fetched.keep(workspace, join(base, 'no-home'));
  expect(existsSync(join(kept, '.m2/repository/a.jar'))).toBe(true);
});

it('follows no link that an agent has left in its HOME', async () => {
  write(join(base, 'host/repository/secret'), 'secret');
  mkdirSync(home);
  symlinkSync(join(base, 'host'), join(home, '.m2'));
  symlinkSync(join(base, 'host'), join(home, '.gem'));
  await fetched.keep(workspace, home);
  expect(await fetched.of(workspace)).toBeNull();
  expect(existsSync(join(base, 'host/repository/secret'))).toBe(true);
});

it('removes packages that nobody used for two weeks, and those of a workspace that is gone', async () => {
  write(join(home, '.gem/a'), 'a');
  await fetched.keep(workspace, home);
  await fetched.prune();
  const kept = (await fetched.of(workspace))!;
  const old = new Date(Date.now() - 15 * 86_400_000);
  utimesSync(kept, old, old);
  await fetched.prune();
  expect(await fetched.of(workspace)).toBeNull();
  write(join(home, '.gem/a'), 'a');
  await fetched.keep(workspace, home);
  rmSync(workspace, { recursive: true });
  await fetched.prune();
  expect(await fetched.of(workspace)).toBeNull();
});
