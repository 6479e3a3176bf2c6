import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { notesIn } from '../../../src/activities/host/group-notes.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-notes-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('reads the notes of a group, those for every agent first', async () => {
  expect(await notesIn(folder)).toBeNull();
  writeFileSync(join(folder, 'CLAUDE.md'), 'We speak German.');
  expect(await notesIn(folder)).toMatchObject({ file: 'CLAUDE.md', text: 'We speak German.' });
  writeFileSync(join(folder, 'AGENTS.md'), `${'x'.repeat(3_999)}👪`);
  const notes = (await notesIn(folder))!;
  expect([notes.file, notes.text.length, notes.text.isWellFormed()]).toEqual(['AGENTS.md', 4_000, true]);
});

it('follows no link out of the folder, and reads no file that is none', async () => {
  const outside = join(folder, 'secret');
  writeFileSync(outside, 'a key');
  symlinkSync(outside, join(folder, 'AGENTS.md'));
  expect(await notesIn(folder)).toBeNull();
  rmSync(join(folder, 'AGENTS.md'));
  writeFileSync(join(folder, 'AGENTS.md'), 'x'.repeat(300 * 1024));
  expect(await notesIn(folder)).toBeNull();
  expect(await notesIn(join(folder, 'nowhere'))).toBeNull();
});
