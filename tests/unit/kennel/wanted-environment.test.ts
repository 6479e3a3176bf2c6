import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { environment } from '../../../kennel/workspace/environment/find.ts';
import { profile } from '../../../kennel/workspace/project/profile.ts';
import { Environments } from '../../../src/adapters/kennel/environment/environments.ts';
import { checkedEnvironment } from '../../../src/adapters/kennel/environment/found.ts';
import { english, type Say, sayIn } from '../../../src/domain/texts/say.ts';
import { holds } from '../../support/property.ts';

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function place(files: Record<string, string | Buffer>) {
  const root = mkdtempSync(join(tmpdir(), 'fetch-wanted-'));
  made.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return { root, workspace: root, worktree: null, side: join(root, 'none') };
}
const found = (files: Record<string, string | Buffer>) => checkedEnvironment(environment(place(files)).data);
const languages = (files: Record<string, string | Buffer>) => found(files).languages.map(({ language }) => language);
const kind = (files: Record<string, string | Buffer>) => profile(place(files)).data;

describe('package managers that a project names', () => {
  const large = 'x'.repeat(300_000);
  it.each<[string, Record<string, string>, string[], string[]]>([
    ['pnpm', { 'package.json': '{"packageManager":"pnpm@9.1.0+sha512.abc"}' }, ['pnpm 9.1.0'], ['node']],
    ['a large lock file', { 'package.json': '{}', 'pnpm-lock.yaml': large }, ['pnpm'], ['node']],
    ['yarn', { 'package.json': '{}', 'yarn.lock': '# yarn lockfile v1\n' }, ['yarn'], ['node']],
    ['yarn 4', { 'package.json': '{"packageManager":"yarn@4.5.0"}', '.yarnrc.yml': '' }, ['yarn 4.5.0'], ['node']],
    ['yarn from 2 on', { 'package.json': '{}', '.yarnrc.yml': '', 'yarn.lock': '' }, ['yarn berry'], ['node']],
    ['one that npm is', { 'package.json': '{"packageManager":"npm@11.0.0"}' }, [], ['node']],
    ['bun', { 'package.json': '{}', 'bun.lock': '{}' }, ['bun'], ['node']],
    ['poetry', { 'pyproject.toml': '[tool.poetry]\nname = "x"\n' }, ['poetry'], ['python']],
    [
      'poetry, as a builder',
      { 'pyproject.toml': '[project]\nname = "x"\n[build-system]\nbuild-backend = "poetry.core.masonry.api"\n' },
      ['poetry'],
      ['python'],
    ],
    ['uv', { 'pyproject.toml': '[project]\nname = "x"\n', 'uv.lock': large }, ['uv'], ['python']],
    ['pdm', { 'pyproject.toml': '[tool.pdm]\n' }, ['pdm'], ['python']],
    ['pipenv', { Pipfile: '[packages]\n' }, ['pipenv'], ['python']],
    [
      '.tool-versions',
      { '.tool-versions': 'poetry 1.8.3\npnpm 9.0.0\n' },
      ['pnpm 9.0.0', 'poetry 1.8.3'],
      ['node', 'python'],
    ],
    ['a version that is none', { 'package.json': '{"packageManager":"pnpm@$(evil)"}' }, ['pnpm'], ['node']],
    ['none', { 'requirements.txt': 'x\n' }, [], ['python']],
  ])('%s', (_, files, managers, wanted) => {
    const { managers: named } = found(files);
    expect(named.map(({ name, version }) => (version ? `${name} ${version}` : name))).toEqual(managers);
    expect(languages(files)).toEqual(wanted);
  });

  it.each<[string, (text: string) => string | Buffer]>([
    ['UTF-8 with a mark', (text) => `\ufeff${text}`],
    ['UTF-16, as PowerShell writes', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ])('files in %s', (_, as) => {
    const { managers, languages: wanted } = found({
      'package.json': as('{"packageManager":"pnpm@9.1.0"}'),
      '.nvmrc': as('20\r\n'),
      '.tool-versions': as('poetry 1.8.3\r\n'),
      '.python-version': as('3.12\r\n'),
    });
    expect(managers.map(({ name, version }) => `${name} ${version}`)).toEqual(['pnpm 9.1.0', 'poetry 1.8.3']);
    expect(wanted).toMatchObject([
      { language: 'node', version: '20' },
      { language: 'python', version: '3.12' },
    ]);
    expect(kind({ 'package.json': as('{"scripts":{"test":"node --test"}}') })).toMatchObject({ test: ['npm', 'test'] });
    expect(kind({ 'requirements.txt': as('flask==3.0\n'), 'test_x.py': 'x' })).toMatchObject({ language: 'Python' });
  });

  it('autotools, with what the macros of configure.ac name', () => {
    const script = 'AC_INIT([x], [1])\nAM_INIT_AUTOMAKE\nAX_CXX_COMPILE_STDCXX\nAM_GNU_GETTEXT([external])\n';
    const { packages } = found({ 'configure.ac': script });
    expect(packages).toEqual(['autoconf', 'automake', 'libtool', 'autopoint', 'gettext', 'autoconf-archive']);
    expect(kind({ 'configure.ac': script })).toMatchObject({ language: 'C', packageManager: 'autotools' });
  });
});

describe('a Cargo.toml', () => {
  const python = { 'pyproject.toml': '[project]\nname = "x"\n', 'x.py': '' };
  it.each<[string, string, Record<string, string>]>([
    ['without a target', '[package]\nname = "x"\nversion = "0.1.0"\n', {}],
    ['that is empty', '', {}],
    ['that cannot be read', '= = =', { 'src/main.rs': '' }],
    ['of a workspace without members', '[workspace]\n', {}],
  ])('%s does not make a project Rust', (_, text, more) => {
    const files = { 'Cargo.toml': text, ...more };
    expect(languages({ 'Cargo.toml': text, ...python })).toEqual(['python']);
    expect(kind({ ...files, ...python })).toMatchObject({ language: 'Python' });
    expect(kind({ ...files, Makefile: 'all:\n' })).not.toMatchObject({ packageManager: 'cargo' });
  });

  it.each<[string, string, Record<string, string>]>([
    ['of a library', '[package]\nname = "x"\n', { 'src/lib.rs': '' }],
    ['of a program elsewhere', '[package]\nname = "x"\n[[bin]]\nname = "x"\npath = "x.rs"\n', { 'x.rs': '' }],
    ['of a workspace', '[workspace]\nmembers = ["a"]\n', {}],
  ])('%s does', (_, text, more) => {
    const files = { 'Cargo.toml': text, ...more };
    expect(languages(files)).toEqual(['rust']);
    expect(kind(files)).toMatchObject({ language: 'Rust', test: ['cargo', 'test'] });
  });

  it('of an extension of a Python package makes the project Python, with Rust', () => {
    const files = { 'Cargo.toml': '[package]\nname = "x"\n', 'src/lib.rs': '', ...python };
    expect(kind(files)).toMatchObject({ language: 'Python' });
    expect(languages(files)).toEqual(['python', 'rust']);
  });
});

describe('a devcontainer', () => {
  const AT = '.devcontainer.json';
  it.each(['ghcr.io/stranger/features/tool:1', './local', 'ghcr.io/devcontainers/features/docker-outside-of-docker:1'])(
    'is used without the feature %s, and says so',
    async (feature) => {
      const file = { image: 'debian:12', features: { 'ghcr.io/devcontainers/features/go:1': {}, [feature]: {} } };
      const at = place({ [AT]: JSON.stringify(file, null, 1) });
      const environments = new Environments(join(at.root, '.home'), async () => environment(at));
      const { notes, undecided } = await environments.of(at.root);
      expect(undecided?.text).toBe('Its base is the image debian:12.');
      expect(notes[0]!(english)).toContain(
        `The devcontainer of this repository is used without:\n> ${AT}, line 5: "${feature}"`,
      );
      expect(checkedEnvironment(environment(at).data).languages).toMatchObject([{ language: 'go' }]);
    },
  );

  it('is read whatever stands in it', () => {
    const name = 'ghcr.io/rocker-org/devcontainer-features/apt-packages:1';
    const anything = fc.jsonValue({ maxDepth: 3 });
    const file = fc.record(
      { image: anything, build: anything, containerEnv: anything, postCreateCommand: anything, features: anything },
      { requiredKeys: [] },
    );
    holds(
      fc.property(fc.oneof(file, anything), (content) => {
        expect(found({ [AT]: JSON.stringify(content) }).files).toEqual([AT]);
      }),
      { examples: [[{ postCreateCommand: ['npm', {}, ['ci']] }], [{ features: { [name]: { packages: {} } } }]] },
    );
  });

  it('whose image cannot be had falls back to what a no gives, and that to one without package managers', async () => {
    const at = place({ [AT]: '{"image":"nowhere.invalid/x"}', 'requirements.txt': 'x\n', 'poetry.lock': '' });
    const environments = new Environments(join(at.root, '.home'), async () => environment(at));
    const before = await environments.of(at.root);
    expect(before.choices.map(({ recipe }) => recipe?.title)).toEqual(['Python, poetry', 'Python']);
    await environments.decide(before.undecided!.hash, true);
    const { choices } = await environments.of(at.root);
    type Choices = typeof choices;
    const told = (all: Choices, say: Say) => all.map(({ lost, ...each }) => ({ ...each, lost: lost?.(say) }));
    expect(told(choices.slice(1), english)).toEqual(told(before.choices, english));
    expect(told(choices, english)[0]).toMatchObject({
      recipe: { base: { image: 'nowhere.invalid/x' } },
      lost: expect.stringContaining('.devcontainer.json could not be used, so this task has the languages'),
    });
    expect(told(choices, sayIn('de')).map(({ lost }) => lost)).toEqual([
      expect.stringMatching(/^\.devcontainer\.json ließ sich nicht verwenden, /),
      'poetry ließ sich nicht installieren, also geht diese Aufgabe ohne weiter.',
      undefined,
    ]);
  });
});
