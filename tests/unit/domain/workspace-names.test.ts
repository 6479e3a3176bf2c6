import { expect, test } from 'vitest';
import { isGitName, isPlainName, lookAlike, nearest, shown } from '../../../kennel/workspace/files/names.ts';
import { bounded } from '../../../kennel/workspace/limits.ts';
import { packageName } from '../../../kennel/workspace/project/create.ts';

test('names are shown on one line, without anything that a terminal acts on', () => {
  expect(shown('a\nb\t\u001b[31m\u202e')).toBe('a\\nb\\t\\u001b[31m\\u202e');
  expect(shown('größe 日本 ❤️.txt')).toBe('größe 日本 ❤️.txt');
  expect(isPlainName('größe 日本 ❤️.txt')).toBe(true);
  expect(isPlainName('a\u200bb')).toBe(false);
});

test('names that are printed alike are found, others are not', () => {
  expect(lookAlike('\u0430pp.ts', ['app.ts'])).toBe('app.ts');
  expect(lookAlike('App.ts', ['app.ts'])).toBe('app.ts');
  expect(lookAlike('cafe\u0301', ['caf\u00e9'])).toBe('caf\u00e9');
  expect(lookAlike('app.ts', ['app.ts', 'apps.ts', 'app.tsx'])).toBeNull();
});

test('every spelling that some file system takes for .git is one', () => {
  for (const name of ['.git', '.GIT', '.git.', '.git ', 'git~1', 'GIT~2', '.g\u200cit', '．git'])
    expect(isGitName(name), name).toBe(true);
  for (const name of ['.gitignore', '.github', 'git', 'my.git', '.gitattributes'])
    expect(isGitName(name), name).toBe(false);
});

test('the nearest name is within a third of its letters', () => {
  expect(nearest('mian.ts', ['main.ts', 'other.ts'])).toBe('main.ts');
  expect(nearest('xyz', ['main.ts', 'other.ts'])).toBeNull();
});

test('names of packages begin with a letter', () => {
  expect(packageName('My_App')).toBe('my_app');
  expect(packageName('2048-game')).toBe('game');
  expect(packageName('42')).toBe('app-42');
});

test('what is cut off is counted', () => {
  expect(bounded('a\nb\nc\n', 4)).toBe('a\nb\n… 2 more characters (1 lines) are left out');
  expect(bounded('short', 10)).toBe('short');
});
