import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tracked = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)));
const text = (file: string): string => readFileSync(join(root, file), 'utf8');

it('leads every link of the pages to a file, and to a heading where it names one', () => {
  const broken: string[] = [];
  for (const page of tracked('*.md').filter((file) => !file.startsWith('kennel/templates/'))) {
    for (const [, target] of text(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      const [path, heading] = target!.split('#');
      const file = path === '' ? page : normalize(join(dirname(page), path!));
      if (!existsSync(join(root, file))) broken.push(`${page}: ${target}`);
      else if (heading && !headings(text(file)).has(heading)) broken.push(`${page}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

it('names no file of ours that is not there', () => {
  const stale: string[] = [];
  // files of a person, and the channel that docs/contributing.md takes as its example
  const isExample = (path: string): boolean => /^src\/(old|main|app|a|sum)\.ts$|\/telegram(\/|$)/.test(path);
  for (const file of tracked('*.md', 'src', 'kennel', 'temporal', 'scripts', 'bin', '.env.example')) {
    if (!/\.(md|ts|js|sh|example)$/.test(file) || /^kennel\/templates/.test(file)) continue;
    for (const [path] of text(file).matchAll(
      /(?<![\w/.`'-]|dist\/)(?:src|kennel|tests|scripts|temporal|docs)\/[\w./-]*\w\.(?:ts|sh|md|txt)\b/g,
    )) {
      if (!existsSync(join(root, path)) && !isExample(path)) stale.push(`${file}: ${path}`);
    }
    for (const [, path] of text(file).matchAll(/`((?:src|kennel|tests|scripts|temporal|docs)\/[\w./-]*\w)\/?`/g)) {
      if (!existsSync(join(root, path!)) && !isExample(path!)) stale.push(`${file}: ${path}`);
    }
  }
  expect(stale).toEqual([]);
});

/** The anchors that GitHub gives to the headings of a page. */
function headings(page: string): Set<string> {
  const anchors = [...page.matchAll(/^#+ +(.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(anchors);
}
