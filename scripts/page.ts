import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleAsync, Features } from 'lightningcss';
import { build } from 'rolldown';
import sharp from 'sharp';

/**
 * The owner's page: the sources in `src/page` as one script and one style sheet, with what browsers want to install it.
 * `npm ci` makes it in a clone, `npm pack` for an installed package, so nobody builds it by hand.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const source = (name: string): string => join(root, 'src/page', name);

/** What was written: names in the folder, and folders of the packages whose code is in it. */
export interface BuiltPage {
  files: string[];
  packages: string[];
}

/** Builds the page into the folder `out`. The folder is replaced as a whole, so a server never reads half of a page. */
export async function buildPage(out: string): Promise<BuiltPage> {
  const app = await script('main.tsx');
  const js = hashed('app', 'js', app.code);
  const css = hashed('app', 'css', await styles());
  const svg = readFileSync(source('icon.svg'));
  const icon = hashed('icon', 'svg', svg);
  const favicon = await sharp(svg).resize(32).png().toBuffer();
  const icons = await Promise.all(
    [192, 512].map(async (size) => hashed(`icon-${size}`, 'png', await sharp(svg).resize(size).png().toBuffer())),
  );
  const page = (title: string): string =>
    filled(readFileSync(source('index.html'), 'utf8'), {
      TITLE: title,
      JS: js.name,
      CSS: css.name,
      ICON: icon.name,
      ICON_192: icons[0]!.name,
    });
  const assets = [js, css, icon, ...icons];
  const worker = await script('worker.ts');
  const shell = JSON.stringify(assets.map(({ name }) => `/page/${name}`));
  const files: Made[] = [
    ...assets,
    { name: 'index.html', text: page('Fetch') },
    // the title by which clients of CodeWhale know this page
    { name: 'mobile.html', text: page('CodeWhale Mobile') },
    { name: 'manifest.webmanifest', text: manifest(icon.name, icons) },
    // browsers ask for it before they have read the page
    { name: 'favicon.ico', text: favicon },
    { name: 'sw.js', text: `const SHELL=${shell},VERSION=${JSON.stringify(`${js.name} ${css.name}`)};${worker.code}` },
  ];
  const folder = `${out}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  rmSync(out, { recursive: true, force: true });
  renameSync(folder, out);
  return { files: files.map(({ name }) => name), packages: app.packages };
}

interface Made {
  name: string;
  text: string | Uint8Array;
}

const hashed = (name: string, type: string, text: string | Uint8Array): Made => ({
  name: `${name}-${createHash('sha256').update(text).digest('hex').slice(0, 10)}.${type}`,
  text,
});

async function script(entry: string): Promise<{ code: string; packages: string[] }> {
  const { output } = await build({
    input: source(entry),
    cwd: root,
    platform: 'browser',
    tsconfig: source('tsconfig.json'),
    write: false,
    output: {
      format: 'es',
      minify: true,
      codeSplitting: false,
      comments: { legal: false, jsdoc: false, annotation: false },
    },
  });
  const [chunk] = output;
  const folders = chunk.moduleIds
    .map((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0])
    .filter((folder) => folder !== undefined);
  return { code: chunk.code, packages: [...new Set(folders)].map((folder) => relative(root, folder)).sort() };
}

async function styles(): Promise<Uint8Array> {
  const { code } = await bundleAsync({
    filename: source('styles/page.css'),
    minify: true,
    // no style uses light-dark(), whose helpers would stand in each colour scheme
    exclude: Features.LightDark,
    targets: { chrome: 120 << 16, safari: (17 << 16) | (2 << 8), firefox: 121 << 16 },
  });
  return code;
}

const manifest = (icon: string, [small, large]: Made[]): string =>
  JSON.stringify({
    id: '/',
    name: 'Fetch',
    short_name: 'Fetch',
    description: 'Text your computer.',
    start_url: '/',
    scope: '/',
    display: 'standalone',
    background_color: '#f7f6f3',
    theme_color: '#14574b',
    icons: [
      { src: `/page/${icon}`, sizes: 'any', type: 'image/svg+xml' },
      { src: `/page/${small!.name}`, sizes: '192x192', type: 'image/png' },
      { src: `/page/${large!.name}`, sizes: '512x512', type: 'image/png', purpose: 'any' },
    ],
  });

/** @throws when a place of the template has no value */
const filled = (template: string, values: Record<string, string>): string =>
  template.replaceAll(/%([A-Z_0-9]+)%/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`index.html asks for ${name}, which nothing gives`);
    return value;
  });

export const PAGE_FOLDER = join(root, 'dist', 'page');

if (import.meta.main) await buildPage(PAGE_FOLDER);
