import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { forbiddenFolders, forbiddenPackages, IMPORT_TABLE, overrides } from '../../scripts/import-table.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'fetch-import-table-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** The files in which the linter refuses an import. */
function refusedIn(files: Record<string, string>): Promise<string[]> {
  copyFileSync(join(root, 'biome.json'), join(scratch, 'biome.json'));
  symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(scratch, path)), { recursive: true });
    writeFileSync(join(scratch, path), text);
  }
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '--only=style/noRestrictedImports', 'src', 'kennel', 'temporal'];
  return new Promise((resolve, reject) => {
    execFile(join(root, 'node_modules/.bin/biome'), args, { cwd: scratch, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout, stderr) => {
      try {
        const { diagnostics } = JSON.parse(stdout) as { diagnostics: { category: string; location: { path: string | { file: string } } }[] };
        resolve([...new Set(diagnostics.map(({ location: { path } }) => (typeof path === 'string' ? path : path.file)))].sort());
      } catch {
        reject(new Error(`biome said: ${stdout.slice(0, 500)}${stderr.slice(0, 2000)}`));
      }
    });
  });
}

it('covers every folder of the source', () => {
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(Object.keys(IMPORT_TABLE).map((name) => name.split('/')[0])).toEqual(expect.arrayContaining(folders.map(({ name }) => name)));
});

it('is what the linter reads', () => {
  const config = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'));
  expect(config.overrides).toEqual(expect.arrayContaining(overrides()));
});

it('has every forbidden import refused, in the folder itself and deeper in it, and no allowed one', async () => {
  const refused: Record<string, string> = {};
  const allowed: Record<string, string> = {};
  for (const [folder, { imports }] of Object.entries(IMPORT_TABLE)) {
    for (const [inner, up] of [
      ['', '../'.repeat(folder.split('/').length)],
      ['deeper/', `../${'../'.repeat(folder.split('/').length)}`],
    ] as const) {
      const at = (name: string) => `src/${folder}/${inner}${name}.ts`;
      const target = (name: string) => (['config', 'log', 'installation'].includes(name) ? `${up}${name}.ts` : `${up}${name}/some-file.ts`);
      for (const name of forbiddenFolders(folder)) {
        refused[at(`to-${name.replaceAll('/', '-')}`)] = `import { a } from '${target(name)}';\nexport const b = a;\n`;
        refused[at(`type-to-${name.replaceAll('/', '-')}`)] = `import type { A } from '${target(name)}';\nexport type B = A;\n`;
        refused[at(`later-to-${name.replaceAll('/', '-')}`)] = `export const b = () => import('${target(name)}');\n`;
      }
      for (const { name } of forbiddenPackages(folder)) refused[at(`package-${name.replaceAll('/', '-')}`)] = `import a from '${name}';\nexport const b = a;\n`;
      refused[at('to-runner')] = `import { a } from '../${up}kennel/runner/main.ts';\nexport const b = a;\n`;
      refused[at('to-profile')] = `import { a } from '../${up}kennel/agents/toy/profile.ts';\nexport const b = a;\n`;
      (folder === 'workflows' ? refused : allowed)[at('to-agents')] = `import { a } from '../${up}kennel/agents/registry.ts';\nexport const b = a;\n`;
      for (const name of imports) allowed[at(`may-${name.replaceAll('/', '-')}`)] = `import { a } from '${target(name)}';\nexport const b = a;\n`;
      allowed[at('may-beside')] = "import { a } from './beside.ts';\nexport const b = a;\n";
    }
  }
  for (const folder of ['contracts', 'domain', 'workflows'])
    refused[`src/${folder}/node.ts`] = "import { readFileSync } from 'node:fs';\nexport const b = readFileSync;\n";
  refused['src/up.ts'] = "import { a } from './store/some-file.ts';\nexport const b = a;\n";
  refused['kennel/runner/host.ts'] = "import { a } from '../../src/domain/some-file.ts';\nexport const b = a;\n";
  refused['kennel/runner/list.ts'] = "import { a } from '../agents/registry.ts';\nexport const b = a;\n";
  refused['kennel/agents/toy/profile.ts'] = "import { a } from './facts.ts';\nexport const b = a;\n";
  refused['kennel/agents/toy/facts.ts'] = "import { a } from './profile.ts';\nexport const b = a;\n";
  refused['temporal/product.ts'] = "import { a } from '../src/config.ts';\nexport const b = a;\n";
  allowed['kennel/agents/other/facts.ts'] = "import { a } from '../toy/facts.ts';\nexport const b = a;\n";
  allowed['kennel/runner/boundary.ts'] = "import { a } from '../../src/contracts/kennel.ts';\nexport const b = a;\n";
  expect(await refusedIn({ ...refused, ...allowed })).toEqual(Object.keys(refused).sort());
});
