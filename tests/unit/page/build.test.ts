import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltPage, buildPage } from '../../../scripts/page.ts';

/** Scripts and styles, as they are: those of the first screen, and all of them. */
const MOST_AT_FIRST = 100_000;
const MOST_BYTES = 180_000;

const home = mkdtempSync(join(tmpdir(), 'fetch-page-'));
const folder = join(home, 'page');
let built: BuiltPage;
beforeAll(async () => {
  built = await buildPage(folder);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe('the built page', () => {
  it('is small, and its first screen is smaller', () => {
    const bytes = (names: readonly string[]): number =>
      names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    const first = [...read('index.html').matchAll(/\/page\/([\w-]+\.(?:js|css))"/g)].map(([, name]) => name!);
    expect(bytes(first)).toBeGreaterThan(20_000);
    expect(bytes(first)).toBeLessThan(MOST_AT_FIRST);
    const all = built.files.filter((name) => /\.(js|css)$/.test(name));
    expect(all.length).toBeGreaterThan(first.length);
    expect(bytes(all)).toBeLessThan(MOST_BYTES);
  });

  it('asks at once for all that its first screen needs, and keeps every script for a time without a connection', () => {
    const scripts = built.files.filter((name) => name.endsWith('.js') && name !== 'sw.js');
    const imports = (name: string): string[] =>
      [...read(name).matchAll(/\b(?:from|import)\s*["'`]\.\/([\w-]+\.js)["'`]/g)].map(([, imported]) => imported!);
    const first = scripts.filter((name) => read('index.html').includes(name));
    for (const name of first) for (const imported of imports(name)) expect(first).toContain(imported);
    for (const name of scripts) expect(read('sw.js')).toContain(`"/page/${name}"`);
  });

  it('loads nothing from elsewhere, and names every file that it needs', () => {
    for (const page of ['index.html', 'mobile.html']) {
      const addresses = [...read(page).matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);
      expect(addresses.length).toBeGreaterThan(3);
      for (const address of addresses) expect(built.files).toContain(address.replace(/^\/(page\/)?/, ''));
      expect(read(page)).not.toMatch(/<style|<script>|\son\w+=/);
    }
  });

  it('is known to clients of CodeWhale by its title and its address of approvals', () => {
    expect(read('mobile.html')).toContain('<title>CodeWhale Mobile</title>');
    expect(read('mobile.html')).toContain('/v1/approvals/');
  });

  it('never writes HTML and makes no code of text', () => {
    const script = built.files
      .filter((name) => name.endsWith('.js'))
      .map(read)
      .join('\n');
    // the library can, for a property that no source of ours sets
    expect(script.match(/innerHTML/g)?.length ?? 0).toBeLessThanOrEqual(2);
    expect(script).not.toMatch(/\beval\(|new Function\(|insertAdjacentHTML|document\.write/);
  });

  it('changes the name of a file only with what is in it', async () => {
    const again = join(home, 'again');
    expect((await buildPage(again)).files).toEqual(built.files);
  });
});
