import { expect, it } from 'vitest';
import { summary } from '../../../kennel/workspace/checkpoint/report.ts';

const files = (status: 'added' | 'modified' | 'deleted', ...paths: string[]) =>
  paths.map((path) => ({ path, status, added: 1, removed: 0 }));
const LONG = 'a/long/path/to/a/folder/with/many/names/that/is/longer/than/a/subject/is.ts';

it.each([
  ['Update a.ts', files('modified', 'a.ts')],
  ['Add a, b and c', files('added', 'a', 'b', 'c')],
  ['Add 4 files', files('added', 'a', 'b', 'c', 'd')],
  ['Update a.ts, remove b.ts', [...files('deleted', 'b.ts'), ...files('modified', 'a.ts')]],
  ['Add 1 file', files('added', LONG)],
  ['Add 1 file, remove 2 files', [...files('added', LONG), ...files('deleted', 'a', 'b')]],
])('the subject of a commit is a summary of its files: %s', (subject, changed) => {
  expect(summary({ files: changed, added: 1, removed: 1 })).toBe(subject);
});

it('the subject of a commit of more files than are listed counts all', () => {
  expect(summary({ files: files('added', 'a'), filesChanged: 812, added: 1, removed: 0 })).toBe('Change 812 files');
});
