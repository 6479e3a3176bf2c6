import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MemoryWatch } from '../../../kennel/runner/watch/resource-watch.ts';
import { until } from '../../support/until.ts';

let folder: string;
let watch: MemoryWatch | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'runner-memory-'));
});
afterEach(() => {
  watch?.close();
  rmSync(folder, { recursive: true, force: true });
});

const second = (kills: number) => `low 0\nhigh 0\nmax 812\noom 3\noom_kill ${kills}\noom_group_kill 0\n`;
const first = (kills: number) => `oom_kill_disable 0\nunder_oom 0\noom_kill ${kills}\n`;

describe('the watch over memory', () => {
  test.each([
    ['second', second],
    ['first', first],
  ])('tells of each new kill, and explains a failure by it, with control groups of the %s version', async (_, text) => {
    const path = join(folder, 'counter');
    // events of an earlier run in the same control group do not count for this one
    writeFileSync(path, text(2));
    let told = 0;
    watch = new MemoryWatch(() => told++, [join(folder, 'missing'), path]);
    expect(watch.explain('It was ended.')).toBe('It was ended.');
    writeFileSync(path, text(3));
    await until('the kill is noticed', () => told === 1);
    expect(watch.explain('It was ended.')).toBe('The container ran out of memory. It was ended.');
  });

  test('says nothing where the kernel does not', () => {
    watch = new MemoryWatch(() => expect.unreachable(), [join(folder, 'missing')]);
    expect(watch.explain('It was ended.')).toBe('It was ended.');
  });
});
