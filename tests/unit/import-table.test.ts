import { execFile } from 'node:child_process';
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import {
  DEPTHS,
  depthsInUse,
  FOLDERS,
  forbiddenFolders,
  forbiddenPackages,
  IMPORT_TABLE,
  LAYERS,
  mayImport,
  overrides,
} from '../../scripts/import-table.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'fetch-import-table-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** The lines in which the linter refuses an import, as `file: line`. */
function refusedIn(files: Record<string, readonly string[]>): Promise<string[]> {
  copyFileSync(join(root, 'biome.json'), join(scratch, 'biome.json'));
  // at every depth; the linter's own file has those of them at which files lie
  writeFileSync(join(scratch, 'biome.imports.json'), JSON.stringify({ overrides: overrides(() => DEPTHS) }));
  symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'));
  for (const [path, lines] of Object.entries(files)) {
    mkdirSync(dirname(join(scratch, path)), { recursive: true });
    writeFileSync(join(scratch, path), lines.join('\n'));
  }
  const args = [
    'lint',
    '--reporter=json',
    '--max-diagnostics=none',
    '--only=style/noRestrictedImports',
    'src',
    'kennel',
    'temporal',
  ];
  return new Promise((resolve, reject) => {
    execFile(
      join(root, 'node_modules/.bin/biome'),
      args,
      { cwd: scratch, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => {
        try {
          const { diagnostics } = JSON.parse(stdout) as {
            diagnostics: { location: { path: string; start: { line: number } } }[];
          };
          // two rules may refuse the same line
          resolve(
            [
              ...new Set(
                diagnostics.map(({ location: { path, start } }) => `${path}: ${files[path]![start.line - 1]}`),
              ),
            ].sort(),
          );
        } catch {
          reject(new Error(`biome said: ${stdout.slice(0, 500)}${stderr.slice(0, 2000)}`));
        }
      },
    );
  });
}

const foldersIn = (path: string): string[] =>
  readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
const sources = globSync('src/**/*.{ts,tsx}', { cwd: root });

/**
 * Every import of the source, also of a type, and also at run time: the file that has it and the file that it leads to.
 */
const imports = sources.flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) => ({
    file,
    target: posix.join(posix.dirname(file), path!),
  })),
);

it('covers every folder of the source', () => {
  expect(Object.keys(IMPORT_TABLE)).toEqual(expect.arrayContaining(foldersIn('src')));
  for (const [outer, inner] of Object.entries(LAYERS))
    expect([...inner].sort()).toEqual(foldersIn(`src/${outer}`).sort());
  const deep = sources.filter(
    (file) =>
      file.split('/').length - 2 - Math.max(...DEPTHS) >
      (FOLDERS.findLast((folder) => file.startsWith(`src/${folder}/`)) ?? '').split('/').length,
  );
  expect(deep, 'lie too deep in a folder for the linter').toEqual([]);
});

it('is what the linter reads', () => {
  expect(JSON.parse(readFileSync(join(root, 'biome.imports.json'), 'utf8'))).toEqual({
    overrides: overrides(depthsInUse),
  });
});

it('allows every import of the source, followed to its file', () => {
  expect(imports.length).toBeGreaterThan(4_000);
  expect(imports.filter(({ file, target }) => !mayImport(file, target))).toEqual([]);
});

it('has no two sister folders that import each other', () => {
  const arrows = new Set(
    imports.flatMap(({ file, target }) => {
      const [from, to] = [file.split('/').slice(0, -1), target.split('/').slice(0, -1)];
      const at = from.findIndex((name, index) => name !== to[index]);
      return at > 0 && at < 4 && to.length > at
        ? [`${from.slice(0, at + 1).join('/')} ${to.slice(0, at + 1).join('/')}`]
        : [];
    }),
  );
  expect([...arrows].filter((arrow) => arrows.has(arrow.split(' ').reverse().join(' ')))).toEqual([]);
});

it('has every forbidden import refused, in the folder itself and deeper in it, and no allowed one', async () => {
  const refused: Record<string, string[]> = {};
  const allowed: Record<string, string[]> = {};
  const fileIn = (name: string) =>
    ['config', 'log', 'installation'].includes(name) ? `src/${name}.ts` : `src/${name}/some-file.ts`;
  for (const folder of FOLDERS) {
    for (const inner of ['', 'deeper/', 'deeper/and-deeper/']) {
      const to = (path: string) => posix.relative(`src/${folder}/${inner}`, path);
      const agents = 'kennel/agents/registry.ts';
      const mayHaveAgents = mayImport(`src/${folder}/file.ts`, agents);
      const not = [
        ...forbiddenFolders(folder).map(fileIn),
        'kennel/runner/main.ts',
        'kennel/agents/toy/profile.ts',
        ...(mayHaveAgents ? [] : [agents]),
      ];
      refused[`src/${folder}/${inner}refused.ts`] = [
        ...not.flatMap((path) => [
          `import '${to(path)}';`,
          `import type { A } from '${to(path)}';`,
          `void import('${to(path)}');`,
        ]),
        ...forbiddenPackages(folder).map(({ name }) => `import '${name}';`),
      ];
      const may = FOLDERS.filter((name) => name !== folder && mayImport(`src/${folder}/file.ts`, fileIn(name))).map(
        fileIn,
      );
      allowed[`src/${folder}/${inner}allowed.ts`] = [
        ...[...may, ...(mayHaveAgents ? [agents] : [])].map((path) => `import '${to(path)}';`),
        "import './beside.ts';",
      ];
    }
  }
  for (const folder of ['contracts', 'domain', 'workflows'])
    refused[`src/${folder}/node.ts`] = ["import { readFileSync } from 'node:fs';"];
  refused['src/up.ts'] = ["import { a } from './store/some-file.ts';"];
  refused['kennel/runner/host.ts'] = ["import { a } from '../../src/domain/some-file.ts';"];
  refused['kennel/runner/list.ts'] = ["import { a } from '../agents/registry.ts';"];
  refused['kennel/agents/toy/profile.ts'] = ["import { a } from './facts.ts';"];
  refused['kennel/agents/toy/facts.ts'] = ["import { a } from './profile.ts';"];
  refused['temporal/product.ts'] = ["import { a } from '../src/config.ts';"];
  allowed['kennel/agents/other/facts.ts'] = ["import { a } from '../toy/facts.ts';"];
  allowed['kennel/runner/boundary.ts'] = ["import { a } from '../../src/contracts/kennel.ts';"];
  const expected = Object.entries(refused).flatMap(([path, lines]) => lines.map((line) => `${path}: ${line}`));
  expect(await refusedIn({ ...refused, ...allowed })).toEqual(expected.sort());
});
