import { readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { withTable } from '../../scripts/docs/page.ts';
import { envExample, FILES, listSettings, settingsTable, TABLES } from '../../scripts/docs/tables.ts';
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
    expect(settingsTable('people')).toContain('| `FETCH_RUNTIME_PORT` | `7878` |');
    const tables = `${settingsTable('people')}\n${settingsTable('tests')}`;
    for (const name of Object.keys(settings)) expect(tables.split(`| \`${name}\` |`), name).toHaveLength(2);
  });

  it('change nothing when the example is copied as it is, beyond what Docker Compose starts', () => {
    expect(parse(envExample())).toEqual({ COMPOSE_PROFILES: 'full' });
  });
});
