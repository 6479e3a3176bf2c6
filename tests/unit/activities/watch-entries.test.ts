import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { watchEntries } from '../../../src/activities/host/tend.ts';
import { until } from '../../support/until.ts';

const base = mkdtempSync(join(tmpdir(), 'fetch-watch-'));
const ends: Array<() => void> = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
  rmSync(base, { recursive: true, force: true });
});

describe('a folder that is watched', () => {
  it('is made where there is none, and tells what is put there and taken away, but not what changes inside', async () => {
    const folder = join(base, 'workspaces');
    let told = 0;
    const changed = () => {
      told += 1;
    };
    ends.push(watchEntries(folder, changed));
    mkdirSync(join(folder, 'demo'));
    await until('it is told', () => told === 1, 5_000);
    writeFileSync(join(folder, 'demo', 'a.txt'), 'a');
    rmSync(join(folder, 'demo'), { recursive: true });
    await until('it is told again', () => told === 2, 5_000);
  });

  it('is no error where it cannot be watched', () => {
    expect(watchEntries('/dev/null/workspaces', () => {})).not.toThrow();
  });
});
