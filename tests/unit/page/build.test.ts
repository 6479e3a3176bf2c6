import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltPage, buildPage } from '../../../scripts/page.ts';

const MOST_BYTES = 160_000;

const home = mkdtempSync(join(tmpdir(), 'fetch-page-'));
const folder = join(home, 'page');
let built: BuiltPage;
beforeAll(async () => {
  built = await buildPage(folder);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe('the built page', () => {
  it('is small: all scripts and styles together, as they are', () => {
    const bytes = built.files
      .filter((name) => /\.(js|css)$/.test(name))
      .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(bytes).toBeLessThan(MOST_BYTES);
    expect(bytes).toBeGreaterThan(20_000);
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
    const script = read(built.files.find((name) => /^app-.*\.js$/.test(name))!);
    // the library can, for a property that no source of ours sets
    expect(script.match(/innerHTML/g)?.length ?? 0).toBeLessThanOrEqual(2);
    expect(script).not.toMatch(/\beval\(|new Function\(|insertAdjacentHTML|document\.write/);
  });

  it('changes the name of a file only with what is in it', async () => {
    const again = join(home, 'again');
    expect((await buildPage(again)).files).toEqual(built.files);
  });
});
