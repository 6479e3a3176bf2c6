import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

// it runs before types can be stripped, so it has none
const { freshBundle } = (await import(new URL('../../../bin/bundle.js', import.meta.url).href)) as {
  freshBundle(root: string): string | undefined;
};

const root = mkdtempSync(join(tmpdir(), 'fetch-bundle-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const source = join(root, 'src', 'main.ts');
const latest = join(root, 'dist', 'bundles', 'latest.json');
const stamp = () => {
  const { size, mtimeMs } = statSync(source);
  writeFileSync(latest, JSON.stringify({ main: '1-1/main.js', files: [['src/main.ts', size, mtimeMs]] }));
};
mkdirSync(join(root, 'src'));
mkdirSync(join(root, 'dist', 'bundles'), { recursive: true });

describe('the bundle of a clone', () => {
  it('is used while every file that went into it is as it was', () => {
    writeFileSync(source, 'one');
    stamp();
    expect(freshBundle(root)).toBe(pathToFileURL(join(root, 'dist', 'bundles', '1-1', 'main.js')).href);
  });

  it.each([
    ['changed', () => writeFileSync(source, 'three')],
    ['saved again with as many bytes', () => utimesSync(source, new Date(), new Date(Date.now() + 5_000))],
    ['removed', () => rmSync(source)],
  ])('is not used after a file was %s', (_, change) => {
    writeFileSync(source, 'one');
    stamp();
    change();
    expect(freshBundle(root)).toBeUndefined();
  });

  it.each([
    ['was never made', () => rmSync(latest, { force: true })],
    ['has a damaged record', () => writeFileSync(latest, '{"main":')],
    ['has a record of another form', () => writeFileSync(latest, '{}')],
  ])('is not used when it %s', (_, change) => {
    change();
    expect(freshBundle(root)).toBeUndefined();
  });
});
