import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { pack, unpack } from '../../../src/cli/home/backup/archive.ts';

const folder = mkdtempSync(join(tmpdir(), 'fetch-archive-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('restores files without the bits by which they run as somebody else, and no devices or pipes', async () => {
  const [from, to, file] = ['from', 'to', 'backup'].map((name) => join(folder, name)) as [string, string, string];
  mkdirSync(join(from, 'deep'), { recursive: true });
  mkdirSync(to);
  writeFileSync(join(from, 'deep/program'), '#!/bin/sh\n');
  chmodSync(join(from, 'deep/program'), 0o6755);
  chmodSync(join(from, 'deep'), 0o2775);
  writeFileSync(join(from, 'plain'), 'as it was');
  chmodSync(join(from, 'plain'), 0o640);
  writeFileSync(join(from, 'large'), Buffer.alloc(2_000_000));
  execFileSync('mkfifo', [join(from, 'deep/pipe')]);
  if (process.getuid?.() === 0) execFileSync('mknod', [join(from, 'deep/device'), 'c', '1', '3']);

  await pack('a key of a test', from, file);
  await unpack('a key of a test', file, to);

  const modeOf = (name: string) => statSync(join(to, name)).mode & 0o7777;
  expect([modeOf('deep/program'), modeOf('deep'), modeOf('plain')]).toEqual([0o755, 0o775, 0o640]);
  expect([existsSync(join(to, 'deep/pipe')), existsSync(join(to, 'deep/device'))]).toEqual([false, false]);
  expect(readFileSync(join(to, 'plain'), 'utf8')).toBe('as it was');
});

it('packs a small folder whole, although tar has ended before its output is read', async () => {
  const from = join(folder, 'small');
  mkdirSync(from);
  writeFileSync(join(from, 'one'), 'small');
  for (let round = 0; round < 6; round += 1) {
    const [to, file] = [join(folder, `small-${round}`), join(folder, `small-${round}.backup`)];
    mkdirSync(to);
    await pack('a key of a test', from, file);
    await unpack('a key of a test', file, to);
    expect(readFileSync(join(to, 'one'), 'utf8')).toBe('small');
  }
});
