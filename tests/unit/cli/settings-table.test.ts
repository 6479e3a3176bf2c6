import { readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { type Audience, envExample, listSettings, PAGES, settingsTable, withTable } from '../../../src/cli/commands/settings-table.ts';
import { settings } from '../../../src/config.ts';

const file = (name: string): string => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');

describe('the documented settings', () => {
  it('are those of the schema in the README, and those of tests in docs/contributing.md; "npm run docs" renews them', () => {
    for (const [audience, name] of Object.entries(PAGES) as [Audience, string][]) expect(file(name), name).toBe(withTable(file(name), audience));
  });

  it('are those of the schema in .env.example; "npm run docs" renews it', () => {
    expect(file('.env.example')).toBe(envExample());
  });

  it('are all there, each with what it means', () => {
    expect(listSettings().map(({ name }) => name)).toEqual(Object.keys(settings));
    for (const { name, meaning } of listSettings()) expect(meaning, name).not.toBe('');
    expect(settingsTable('people')).toContain('| `FETCH_RUNTIME_PORT` | `7878` |');
    const tables = `${settingsTable('people')}\n${settingsTable('tests')}`;
    for (const name of Object.keys(settings)) expect(tables.split(`| \`${name}\` |`), name).toHaveLength(2);
  });

  it('change nothing when the example is copied as it is', () => {
    expect(parse(envExample())).toEqual({});
  });

  it('cannot be written into a README without the markers', () => {
    expect(() => withTable('# Fetch\n', 'people')).toThrow(/needs the lines/);
  });
});
