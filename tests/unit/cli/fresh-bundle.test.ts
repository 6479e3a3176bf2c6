import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
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

describe('what Node has compiled of a bundle', () => {
  const clone = mkdtempSync(join(tmpdir(), 'fetch-compiled-'));
  const cache = join(clone, 'cache');
  const bundle = join(clone, 'dist', 'bundles', '1-1');
  cpSync(fileURLToPath(new URL('../../../bin', import.meta.url)), join(clone, 'bin'), { recursive: true });
  for (const folder of [join(clone, 'src', 'cli'), join(clone, 'node_modules'), bundle])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(clone, 'package.json'), '{"type":"module"}');
  writeFileSync(join(clone, 'src', 'cli', 'main.ts'), '');
  writeFileSync(join(bundle, 'main.js'), "console.log('it ran')");
  writeFileSync(join(clone, 'dist', 'bundles', 'latest.json'), JSON.stringify({ main: '1-1/main.js', files: [] }));
  afterAll(() => rmSync(clone, { recursive: true, force: true }));
  const run = () =>
    execFileSync(process.execPath, [join(clone, 'bin', 'fetch.js')], {
      env: { XDG_CACHE_HOME: cache, HOME: clone },
      encoding: 'utf8',
    });
  const compiledIn = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((each) => (each.isFile() ? [each.name] : []));

  it('lies in it, and is removed with it', () => {
    expect(run()).toBe('it ran\n');
    expect(compiledIn(join(bundle, 'compiled'))).not.toEqual([]);
    expect(existsSync(cache)).toBe(false);
  });

  it('lies with the user where the bundle is not theirs to write', () => {
    rmSync(join(bundle, 'compiled'), { recursive: true });
    writeFileSync(join(bundle, 'compiled'), 'no folder can be made here');
    expect(run()).toBe('it ran\n');
    expect(compiledIn(join(cache, 'fetch', 'node'))).not.toEqual([]);
  });
});
