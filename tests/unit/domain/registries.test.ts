import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REGISTRIES_SCRIPT, registriesIn, registryQuestion } from '../../../src/domain/tasks/registries/registries.ts';
import { holds } from '../../support/property.ts';

const never = () => false;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-registries-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What npm of this machine says in a folder with these files. */
function found(files: Record<string, string>, managers = 'npm pip go') {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  // npm reads its own settings of a person besides
  const env = {
    PATH: `${join(process.execPath, '..')}:${folder}:/usr/bin:/bin`,
    HOME: folder,
    FETCH_MANAGERS: managers,
  };
  return registriesIn(execFileSync('bash', ['-c', REGISTRIES_SCRIPT], { cwd: folder, env, encoding: 'utf8' }), never);
}
const needing = { 'package.json': '{"dependencies":{"left":"1.0.0"}}' };

describe('the registries of a project', () => {
  it('are those of its own settings', () => {
    const npmrc = 'registry=https://packages.example.com/npm/\n@acme:registry=https://acme.example:8443\n';
    expect(found({ ...needing, '.npmrc': npmrc })).toEqual([
      { manager: 'npm', host: 'packages.example.com', port: 443, address: 'https://packages.example.com/npm/' },
      { manager: 'npm', host: 'acme.example', port: 8443, address: null },
    ]);
  });

  it('are the one that npm itself knows where the project names none', () => {
    expect(found(needing)).toMatchObject([{ manager: 'npm', port: 443 }]);
  });

  it('are those of the package managers that are asked for', () => {
    expect(found(needing, 'pip go')).toEqual([]);
    expect(
      registriesIn('cargo https://crates.example/\nmaven https://maven.example/maven2\n', never).map(
        ({ manager }) => manager,
      ),
    ).toEqual(['cargo', 'maven']);
  });

  it('are those that files and programs of other package managers name', () => {
    const programs = { bundle: 'true', composer: 'cat composer.txt', dotnet: 'cat sources.txt' };
    for (const [name, line] of Object.entries(programs))
      writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    mkdirSync(join(folder, 'gradle/wrapper'), { recursive: true });
    const all = found(
      {
        Gemfile: "source 'https://gems.example.com'\ngem 'left'\n",
        'Gemfile.lock': 'GEM\n  remote: https://other.example.com/\n  specs:\n    left (1.0)\n',
        'composer.json': '{}',
        'composer.txt':
          '[repositories.packagist.org.type] composer\n[repositories.packagist.org.url] https://packages.example.org\n',
        'composer.lock': '  "dist": {\n    "url": "https://api.example.org/repos/a/zipball/1",\n',
        'app.csproj': '<Project/>',
        'sources.txt': 'E https://nuget.example.com/v3/index.json\nD https://off.example.com/\n',
        'gradle/wrapper/gradle-wrapper.properties': 'distributionUrl=https\\://gradle.example.com/gradle-9-bin.zip\n',
        'build.gradle.kts': 'repositories { mavenCentral()\n maven { url = uri("https://maven.example.com/m2") } }\n',
      },
      'gradle composer bundler dotnet',
    );
    expect(all.map(({ manager, host, address }) => [manager, host, address])).toEqual([
      ['bundler', 'gems.example.com', 'https://gems.example.com/'],
      ['bundler', 'other.example.com', null],
      ['composer', 'packages.example.org', 'https://packages.example.org/'],
      ['composer', 'api.example.org', null],
      ['dotnet', 'nuget.example.com', 'https://nuget.example.com/v3/index.json'],
      ['gradle', 'gradle.example.com', null],
      ['gradle', 'maven.example.com', 'https://maven.example.com/m2'],
    ]);
    expect(found({}, 'npm pip go')).toEqual([]);
  });

  it('are none where nothing is to be loaded, or where the files are no project', () => {
    expect(found({ 'package.json': '{"scripts":{}}' })).toEqual([]);
    expect(found({ 'package.json': 'nonsense' })).toEqual([]);
    mkdirSync(join(folder, 'node_modules'));
    expect(found(needing)).toEqual([]);
  });

  it('are addresses of servers, whatever a project writes', () => {
    expect(
      registriesIn(
        'npm http://plain.example/\nnpm+ https://a.example/\ncurl https://b.example\nnpm https://a.example:443/x\npip https://a.example/y\npip https://[::1]/',
        never,
      ),
    ).toEqual([{ manager: 'npm', host: 'a.example', port: 443, address: 'https://a.example/x' }]);
    holds(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('npm', 'pip', 'x'), fc.string({ unit: 'binary' })), { maxLength: 40 }),
        (lines) => {
          const hosts = registriesIn(lines.map(([manager, text]) => `${manager} https://${text}`).join('\n'), never);
          expect(hosts.length).toBeLessThanOrEqual(12);
          for (const { host, port } of hosts) expect(`${host}:${port}`).toMatch(/^[a-z0-9_.-]+:\d+$/);
        },
      ),
    );
  });

  it('are asked about in one sentence, or with a list', () => {
    const one = { host: 'packages.example.com', port: 443 };
    expect(registryQuestion({ workspace: 'demo', tools: ['npm'], hosts: [one] })).toBe(
      'demo is a Node project: may tasks here use its package registry (packages.example.com)?',
    );
    expect(
      registryQuestion({
        workspace: 'demo',
        tools: ['npm', 'pip'],
        hosts: [one, { host: 'pypi.example', port: 8443 }],
      }),
    ).toBe(
      'demo is a project for npm and pip: may tasks here use its package registries?\n- packages.example.com\n- pypi.example:8443\npypi.example is not pypi.org: the end of its name says whose it is (pypi.example).\nPort 8443 is an unusual one.',
    );
  });

  it('are asked about without a warning where the settings of the owner name them', () => {
    const mirror = { host: '10.0.0.5', port: 4873 };
    const asked = { workspace: 'demo', tools: ['npm'], hosts: [mirror] };
    const question = 'demo is a Node project: may tasks here use its package registry (10.0.0.5:4873)?';
    expect(registryQuestion({ ...asked, own: [mirror] })).toBe(question);
    expect(registryQuestion({ ...asked, own: [{ ...mirror, port: 80 }] })).toContain('Port 4873 is an unusual one.');
  });
});
