import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { withTable } from '../../scripts/docs/page.ts';
import { listSettings, settingsPage, testsTable } from '../../scripts/docs/settings-page.ts';
import { envExample, FILES, TABLES } from '../../scripts/docs/tables.ts';
import { settings } from '../../src/config.ts';

const file = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

describe('what "npm run docs" writes', () => {
  it.each(TABLES)('is renewed: the table of $name in $page', async ({ page, name, text }) => {
    expect(file(page)).toBe(withTable(file(page), name, await text()));
  });

  it.each(FILES)('defect 50: is renewed: $file', ({ file: name, text }) => expect(file(name)).toBe(text()));

  it('needs its two comments in the page', () => {
    expect(() => withTable('# Fetch\n', 'settings', '')).toThrow(/needs the lines/);
  });
});

describe('the documented settings', () => {
  it('are all there, each with what it means', () => {
    expect(listSettings().map(({ name }) => name)).toEqual(Object.keys(settings));
    for (const { name, meaning } of listSettings()) expect(meaning, name).not.toBe('');
    expect(settingsPage()).toContain('| `FETCH_RUNTIME_PORT` | `7878` |');
    const tables = `${settingsPage()}\n${testsTable()}`;
    for (const name of Object.keys(settings)) expect(tables.split(`\n| \`${name}\` |`), name).toHaveLength(2);
  });

  it('change nothing when the example is copied as it is, beyond what Docker Compose starts', () => {
    expect(parse(envExample())).toEqual({ COMPOSE_PROFILES: 'full' });
  });
});

/** Pages that people look things up in; nobody reads them from beginning to end. */
const REFERENCE = ['differences.md', 'failed-once.md', 'licences.md', 'tools.md'];

describe('what a person has to read', () => {
  const folder = new URL('../../docs/', import.meta.url);
  const pages = readdirSync(folder).filter((page) => page.endsWith('.md') && !REFERENCE.includes(page));

  it('is a README of at most 8 KB', () => expect(Buffer.byteLength(file('README.md'))).toBeLessThanOrEqual(8 * 1024));

  it('is at most twelve pages with 25,000 words', () => {
    const words = pages.flatMap((page) => file(`docs/${page}`).trim().split(/\s+/));
    expect([pages.length, words.length]).toEqual([Math.min(pages.length, 12), Math.min(words.length, 25_000)]);
  });

  it('has at most 40 known limits', () => {
    const limits = file('docs/reliability.md')
      .split('\n## Known limits\n')[1]!
      .match(/^\d+\. /gm)!;
    expect(limits.length).toBeLessThanOrEqual(40);
  });

  it('begins each page with its question: what it is about comes before the first heading', () => {
    for (const page of pages) expect(file(`docs/${page}`), page).toMatch(/^# .+\n\n(?!#)/);
  });
});
