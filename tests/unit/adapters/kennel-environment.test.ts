import { describe, expect, it } from 'vitest';
import { homeVariables, runVariables } from '../../../src/adapters/kennel/environment/environments.ts';
import { checkedEnvironment, NOTHING } from '../../../src/adapters/kennel/environment/found.ts';
import { dockerfileOf, recipeOf } from '../../../src/adapters/kennel/environment/recipe.ts';
import { installedFor } from '../../../src/adapters/kennel/environment/versions.ts';
import type { FoundEnvironment, Language } from '../../../src/contracts/environment.ts';
import { english, sayIn } from '../../../src/domain/texts/say.ts';

const got = (language: Language, version: string | null) => installedFor({ language, version, file: 'x.toml' });
const found = (part: Partial<FoundEnvironment>): FoundEnvironment => ({ ...NOTHING, ...part });
const at = { base: 'node:24-bookworm-slim', kennel: 'fetch-kennel:1', user: { uid: 1000, gid: 1000 } };

describe('a version that a repository asks for', () => {
  it.each([
    ['node', '>=18', null],
    ['node', '^24.1.0', null],
    ['node', '^20', '20'],
    ['node', 'v20.11.1', '20'],
    ['node', '18.x || 20.x', '20'],
    ['node', '<20', '18'],
    ['node', '16', '16'],
    ['go', '1.21', null],
    ['go', '1.27.9', '1.27.9'],
    ['go', '1.99', '1.99.0'],
  ] as const)('%s %s is installed by its number, where the usual one does not do', (language, version, installed) => {
    expect(got(language, version)).toEqual({ version: installed, note: null });
  });

  it.each([
    ['python', '>=3.9'],
    ['python', '>=3.9,<4'],
    ['python', '~=3.8'],
    ['python', '3.11.4'],
    ['python', '==3.11.*'],
    ['python', '^3.10'],
    ['rust', 'stable'],
    ['rust', '1.70'],
    ['java', '17'],
    ['java', '1.8'],
    ['java', 'temurin-17.0.2+8'],
    ['php', '>=8.1'],
    ['php', '^7.4|^8.0'],
    ['ruby', '~> 3.1'],
    ['ruby', '3.1.2'],
    ['ruby', 'ruby-3.1.4'],
    ['c', null],
  ] as const)('%s %s is what Debian has', (language, version) => {
    expect(got(language, version)).toEqual({ version: null, note: null });
  });

  it.each([
    ['python', '3.13', 'x.toml asks for Python 3.13; this task gets Python 3.11.'],
    ['python', '>=3.12', 'x.toml asks for Python >=3.12; this task gets Python 3.11.'],
    ['rust', 'nightly', 'x.toml asks for Rust nightly; this task gets Rust 1.96.'],
    ['java', '21', 'x.toml asks for Java 21; this task gets Java 17.'],
    ['php', '^7.4', 'x.toml asks for PHP ^7.4; this task gets PHP 8.2.'],
    ['ruby', '~> 3.3', 'x.toml asks for Ruby ~> 3.3; this task gets Ruby 3.1.'],
    ['node', '0.12', 'x.toml asks for Node 0.12; this task gets Node 24.'],
  ] as const)('%s %s cannot be had, and a sentence says so', (language, version, note) => {
    const wanted = got(language, version);
    expect({ ...wanted, note: wanted.note?.(english) }).toEqual({ version: null, note });
    expect(wanted.note?.(sayIn('de'))).toMatch(/^x\.toml verlangt .*; diese Aufgabe bekommt /);
  });
});

describe('the recipe of a repository', () => {
  it('is none where the images of the kennel have everything', () => {
    expect(recipeOf(NOTHING, false).recipe).toBeNull();
    expect(
      recipeOf(found({ languages: [{ language: 'node', version: '>=20', file: 'package.json' }] }), false).recipe,
    ).toBeNull();
  });

  it('is the same for repositories that need the same, whatever their files are called', () => {
    const one = found({
      languages: [{ language: 'python', version: '3.11', file: '.python-version' }],
      services: ['redis', 'mysql'],
    });
    const other = found({
      languages: [{ language: 'python', version: '>=3.8', file: 'pyproject.toml' }],
      services: ['mysql', 'redis'],
    });
    expect(dockerfileOf(recipeOf(one, false).recipe!, at)).toBe(dockerfileOf(recipeOf(other, false).recipe!, at));
  });

  it('has no part of a devcontainer to which nobody agreed', () => {
    const devcontainer = {
      file: 'd',
      image: 'evil:1',
      dockerfile: 'FROM evil\nRUN evil\n',
      copied: [],
      args: {},
      setup: [],
    };
    expect(recipeOf(found({ devcontainer }), false).recipe).toBeNull();
    expect(recipeOf(found({ devcontainer }), true).recipe?.base).toEqual({
      image: 'evil:1',
      dockerfile: 'FROM evil\nRUN evil\n',
      copied: [],
      args: {},
    });
  });

  it('puts no language of ours over a base that the repository brings, except one that its devcontainer names', () => {
    const devcontainer = {
      file: '.devcontainer.json',
      image: 'golang:1',
      dockerfile: null,
      copied: [],
      args: {},
      setup: [],
    };
    const go = { language: 'go', version: '1.24', file: 'go.mod' } as const;
    const ruby = { language: 'ruby', version: null, file: '.devcontainer.json' } as const;
    const { recipe } = recipeOf(found({ devcontainer, languages: [go, ruby] }), true);
    expect(recipe).toMatchObject({ scripts: [], packages: expect.arrayContaining(['ruby']) });
    expect(dockerfileOf(recipe!, { ...at, base: 'golang:1' })).toMatch(
      /^FROM golang:1\nUSER 0:0\n[\s\S]*\nENV PATH=[^\n]*\$\{PATH:-/,
    );
    // its lists of packages are fetched once, for ours and its own
    expect(dockerfileOf(recipe!, at).match(/apt-get update.*/g)).toEqual([
      expect.stringMatching(/ bash ca-certificates [^&]* ripgrep [^&]* ruby /),
    ]);
  });

  it('runs a setup script as root, after the languages and before the runner, once for each text of it', () => {
    expect(recipeOf(NOTHING, false, 'echo one').recipe).toMatchObject({ title: 'a setup script', script: 'echo one' });
    const go = found({ languages: [{ language: 'go', version: null, file: 'go.mod' }] });
    const [one, two] = ['echo one', 'echo two'].map((script) => dockerfileOf(recipeOf(go, false, script).recipe!, at));
    expect(one).toMatch(
      /go\.sh[\s\S]*\nCOPY setup\.sh[^\n]*\nRUN [^\n]*setup\.sh\nENV FETCH_SETUP=[0-9a-f]{64}\n[\s\S]*\nCOPY --from=[^\n]*\/opt\/fetch \/opt\/fetch\n[\s\S]*\nUSER 1000:1000\n$/,
    );
    expect(one).not.toBe(two);
  });

  it('makes a Dockerfile that begins with the layers of the kennel, ends without rights, and has nothing of BuildKit', () => {
    const { recipe } = recipeOf(found({ languages: [{ language: 'go', version: null, file: 'go.mod' }] }), false);
    const text = dockerfileOf(recipe!, at);
    expect(text).toMatch(/^FROM node:24-bookworm-slim\nRUN apt-get update \\\n && apt-get install/);
    expect(text).toMatch(/\nUSER 1000:1000\n$/);
    expect(text).not.toMatch(/--mount|# syntax|<<EOF/);
  });
});

describe('an answer of the workspace program', () => {
  it('is refused when it is not one', () => {
    const hostile: unknown[] = [
      undefined,
      {},
      { ...NOTHING, packages: ['x; curl evil'] },
      { ...NOTHING, packages: ['-o=Dpkg::x'] },
      { ...NOTHING, languages: [{ language: 'node', version: '20"\nRUN evil', file: 'x' }] },
      { ...NOTHING, languages: [{ language: 'brainfuck', version: null, file: 'x' }] },
      { ...NOTHING, variables: { 'A=B\nC': 'x' } },
      {
        ...NOTHING,
        devcontainer: { file: 'x', image: 'a\nRUN evil', dockerfile: null, copied: [], args: {}, setup: [] },
      },
    ];
    for (const answer of hostile) expect(() => checkedEnvironment(answer)).toThrow();
    expect(checkedEnvironment(NOTHING)).toEqual(NOTHING);
  });
});

describe('the variables of a container', () => {
  it('lead Maven and Gradle to the gate where there is one, and keep their caches in HOME', () => {
    const { MAVEN_OPTS, GRADLE_OPTS } = runVariables('/home/of-it') as Record<string, string>;
    expect(MAVEN_OPTS).toMatch(
      /^-Duser\.home=\/home\/of-it .*-Dhttps\.proxyHost=127\.0\.0\.1 -Dhttps\.proxyPort=4011$/,
    );
    expect(GRADLE_OPTS).toContain('-Dhttps.proxyPort=4011');
    // a direct command has no gate
    expect(JSON.stringify(homeVariables('/home/of-it'))).not.toContain('proxy');
  });
});
