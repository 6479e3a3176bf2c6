import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleInto } from './bundle.ts';
import { buildPage } from './page.ts';

/**
 * `npm run build`, which `npm pack` calls, makes what an installed package runs: the bundle, and each source as
 * JavaScript, because Node strips no types below
 * `node_modules`. Workflow code, threads and child processes are loaded from these.
 */

const root = fileURLToPath(new URL('..', import.meta.url));

// a deleted module must not be published
rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
cpSync(join(root, 'temporal/build'), join(root, 'dist/temporal/build'), { recursive: true });
for (const versioning of ['unversioned', 'versioned'])
  execFileSync(
    process.execPath,
    [
      join(root, 'dist/src/cli/roles/temporal/workflow-bundle.js'),
      join(root, `dist/workflows/${versioning}.js`),
      versioning,
    ],
    {
      stdio: 'inherit',
    },
  );

const page = await buildPage(join(root, 'dist/page'));
const bundle = await bundleInto(join(root, 'dist/bundle'), (source) => join('dist', source.replace(/\.ts$/, '.js')));
// their code is passed on together with their licences
const licences = [...new Set([...bundle.packages, ...page.packages])].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const texts = readdirSync(join(root, folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  return [
    `${name} ${version} (${license})`,
    ...texts.map((file) => readFileSync(join(root, folder, file), 'utf8').trim()),
  ].join('\n\n');
});
writeFileSync(join(root, 'dist/bundle/licences.txt'), `${licences.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
