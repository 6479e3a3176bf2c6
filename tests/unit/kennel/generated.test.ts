import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { generatedAmong } from '../../../kennel/workspace/checkpoint/generated.ts';

const root = mkdtempSync(join(tmpdir(), 'fetch-generated-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let projects = 0;
/** A project with these files of its own and of a tool; which of the new ones count as generated, with their names. */
function among(own: string[], fresh: string[]): Record<string, string> {
  const folder = join(root, String(projects++));
  for (const path of [...own, ...fresh]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), 'x\n');
  }
  return Object.fromEntries(generatedAmong(folder, fresh, own));
}

describe('what tools make', () => {
  it.each([
    ['Cargo.toml', 'target/debug/app.d', 'target/'],
    ['app/build.gradle.kts', 'app/build/libs/x.txt', 'app/build/'],
    ['settings.gradle', '.gradle/8.1/x.lock', '.gradle/'],
    ['pom.xml', 'target/classes/a.txt', 'target/'],
    ['project/build.properties', 'project/target/streams/out', 'project/target/'],
    ['ios/Podfile', 'ios/Pods/Manifest.lock', 'ios/Pods/'],
    ['main.tf', '.terraform/providers/lock', '.terraform/'],
    ['main.tf', 'terraform.tfstate', 'terraform.tfstate'],
    ['package.json', 'dist/a.js', 'dist/'],
    ['package.json', '.next/cache/a', '.next/'],
    ['package.json', '.yarn/cache/left-pad.zip', '.yarn/cache/'],
    ['package.json', 'yarn-error.log', 'yarn-error.log'],
    ['tool.py', 'lib/__pycache__/tool.cpython-311.pyc', 'lib/__pycache__/'],
    ['tool.py', 'tool.pyc', 'tool.pyc'],
    ['setup.cfg', 'build/lib/a.py', 'build/'],
    ['Gemfile', 'vendor/bundle/ruby/3.2.0/a.rb', 'vendor/bundle/'],
    ['composer.json', 'vendor/autoload.php', 'vendor/'],
    ['App.csproj', 'obj/project.assets.json', 'obj/'],
    ['Package.swift', '.build/checkouts/a.swift', '.build/'],
    ['app.cabal', 'dist-newstyle/cache/plan.json', 'dist-newstyle/'],
    ['dune-project', '_build/log', '_build/'],
    ['rebar.config', '_build/default/a', '_build/'],
    ['build.zig', '.zig-cache/h/a.txt', '.zig-cache/'],
    ['hardhat.config.ts', 'artifacts/Token.json', 'artifacts/'],
    ['mkdocs.yml', 'site/index.html', 'site/'],
    ['_config.yml', '_site/index.html', '_site/'],
    ['notebook.ipynb', '.ipynb_checkpoints/notebook-checkpoint.ipynb', '.ipynb_checkpoints/'],
    ['serverless.yml', '.serverless/app.zip', '.serverless/'],
    ['Makefile', 'libx.a', 'libx.a'],
  ])('beside %s: %s', (own, fresh, name) => {
    expect(among([own], [fresh])).toEqual({ [fresh]: name });
  });

  it('in a folder that only a placeholder keeps in git', () => {
    const own = ['package.json', 'dist/.gitkeep'];
    expect(among(own, ['dist/a.js'])).toEqual({ 'dist/a.js': 'dist/' });
  });

  it('is none of what people write under such names', () => {
    const fresh = [
      ...['target/audience.md', 'bin/run.sh', 'lib/a.ts', 'site/index.html', 'out/README.md', 'vendor/javascript/a.js'],
      ...['.yarn/releases/yarn.cjs', 'output/report.md', 'local/settings.py', 'deps/list.txt', 'Library/books.md'],
      ...[
        'artifacts/index.md',
        'cache/policy.md',
        'dist.ts',
        'build/notes.md',
        'todo.class.md',
        '.github/workflows/a.yml',
      ],
      ...['.vscode/settings.json', 'Gemfile.lock', 'package-lock.json', '.terraform.lock.hcl', 'go.sum'],
    ];
    expect(among(['Gemfile', 'README.md'], fresh)).toEqual({});
  });

  it('is kept where the project has files of its own', () => {
    const own = ['package.json', 'dist/index.js', 'test/fixtures/node_modules/a/index.js'];
    expect(among(own, ['dist/more.js', 'test/fixtures/node_modules/a/b.js'])).toEqual({});
  });
});
