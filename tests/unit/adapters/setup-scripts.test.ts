import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SetupScripts } from '../../../src/adapters/kennel/environment/setup-scripts.ts';

let home: string;
let scripts: SetupScripts;
const workspace = () => join(home, 'demo');
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-scripts-'));
  mkdirSync(workspace());
  scripts = new SetupScripts(join(home, 'scripts'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it('the newest script that worked counts, and one that failed changes nothing', async () => {
  expect(await scripts.of(workspace())).toBeNull();
  await scripts.conclude(workspace(), 'q1', 'one', null);
  await scripts.conclude(workspace(), 'q2', 'two', 'it said no');
  expect((await scripts.of(workspace()))?.script).toBe('one');
  await scripts.conclude(workspace(), 'q3', 'three', null);
  expect((await scripts.of(workspace()))?.script).toBe('three');
  expect([
    await scripts.outcome(workspace(), 'q1'),
    await scripts.outcome(workspace(), 'q2'),
    await scripts.outcome(workspace(), 'q4'),
  ]).toEqual([null, 'it said no', undefined]);
});

it('one that is taken back stays away, also when its question is looked at again', async () => {
  await scripts.conclude(workspace(), 'q1', 'one', null);
  expect([await scripts.revoke(workspace()), await scripts.revoke(workspace())]).toEqual([true, false]);
  expect([await scripts.of(workspace()), await scripts.list(), await scripts.outcome(workspace(), 'q1')]).toEqual([
    null,
    [],
    null,
  ]);
});

it('another folder of the same name has none', async () => {
  await scripts.conclude(workspace(), 'q1', 'one', null);
  expect(await scripts.list()).toEqual([expect.objectContaining({ workspace: workspace(), script: 'one' })]);
  renameSync(workspace(), join(home, 'old'));
  expect([await scripts.of(workspace()), await scripts.list()]).toEqual([null, []]);
  mkdirSync(workspace());
  expect([await scripts.of(workspace()), await scripts.list()]).toEqual([null, []]);
});
