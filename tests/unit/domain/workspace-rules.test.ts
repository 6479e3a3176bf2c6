import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseFullName, parseRemote, webHost } from '../../../src/adapters/github/remote.ts';
import { splitWords } from '../../../src/domain/tasks/checks/project-profile.ts';
import {
  branchProblem,
  checkPath,
  findName,
  isWorkspaceName,
  nameProblem,
  quoted,
} from '../../../src/domain/tasks/workspace-names.ts';
import { isTestCommand } from '../../../src/tools/workspace/shell.ts';
import { holds } from '../../support/property.ts';

describe('the name of a workspace', () => {
  it.each(['my-app', 'a', 'API_2', '0', 'x'.repeat(64)])('%s is one', (name) => expect(nameProblem(name)).toBeNull());
  it.each([
    ['', /needs a name/],
    ['x'.repeat(65), /65 characters, at most 64/],
    ['-rf', /begin with a letter or a digit.* rf would be one/],
    ['_x', /begin with/],
    ['.git', /"\." is not allowed/],
    ['..', /not allowed/],
    ['a/b', /"\/" is not allowed.* a-b would be one/],
    ['my app', /a space is not allowed.* my-app would be one/],
    ['mу-app', /U\+0443/],
    ['naïve', /naive would be one/],
    ['app\n', /U\+000A/],
    ['a\u202eb', /U\+202E/],
    ['ａpp', /U\+FF41.* app would be one/],
    ['CON', /reserved/],
    ['lpt1', /reserved/],
    ['Active', /reserved/],
  ])('%j is none', (name, why) => expect(nameProblem(name)).toMatch(why));

  it('is never anything but the allowed characters, whatever is tried', () => {
    holds(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 70 }),
        (name) => void (isWorkspaceName(name) && expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/)),
      ),
    );
  });

  it('is found exactly, or whatever its case when only one fits', () => {
    expect(findName('api', ['API', 'api'])).toBe('api');
    expect(findName('Api', ['api', 'web'])).toBe('api');
    expect(findName('Api', ['API', 'api'])).toBeNull();
    expect(findName('ap', ['api'])).toBeNull();
  });

  it('is shown with nothing invisible in it', () => {
    expect(quoted('a\u202e\u200bb\n')).toBe('"a\\u202e\\u200bb\\n"');
  });
});

describe('a path inside a workspace', () => {
  it.each([
    ['src/app.ts', 'src/app.ts'],
    ['./src//app.ts', 'src/app.ts'],
    ['', '.'],
    ['.', '.'],
    ['/workspace', '.'],
    ['/workspace/src/', 'src'],
    ['a..b/c', 'a..b/c'],
  ])('%j is %j', (raw, path) => expect(checkPath(raw, true)).toEqual({ ok: true, path }));
  it.each([
    ['/etc/passwd', /not inside the workspace/],
    ['/workspace-evil/x', /not inside/],
    ['C:\\x', /not inside/],
    ['~/x', /not inside/],
    ['../x', /leads upwards/],
    ['a/../../x', /leads upwards/],
    ['a\0b', /null character/],
    ['x'.repeat(1025), /too long/],
    ['.git/config', /belongs to git/],
    ['sub/.GIT/hooks/pre-commit', /belongs to git/],
  ])('%j is refused', (raw, problem) =>
    expect(checkPath(raw, true)).toEqual({ ok: false, problem: expect.stringMatching(problem) }),
  );
  it('may be one of git for reading: that is refused where the links are followed, if at all', () => {
    expect(checkPath('.git/config', false)).toMatchObject({ ok: true });
  });
});

test.each(['main', 'feature/x', 'fix-1.2', 'ümlaut'])('%s is the name of a branch', (name) =>
  expect(branchProblem(name)).toBeNull(),
);
test.each([
  '',
  '-d',
  'a..b',
  'a b',
  'a~1',
  'x.lock',
  'HEAD',
  'a/',
  '/a',
  '.a',
  'a/.b',
  'a@{1}',
  'a\nb',
  'a\u200bb',
  'x:y',
  'a\\b',
])('%j is no name for a branch', (name) => expect(branchProblem(name)).not.toBeNull());

test.each([
  ['https://github.com/ann/app.git', 'github.com', 'ann/app'],
  ['https://github.com/ann/app', 'github.com', 'ann/app'],
  ['git@github.com:ann/app.git', 'github.com', 'ann/app'],
  ['ssh://git@github.com:22/ann/app.git', 'github.com', 'ann/app'],
  ['http://127.0.0.1:3000/ann/app.git', '127.0.0.1:3000', 'ann/app'],
])('the remote %s on %s is %s', (remote, host, name) => {
  const found = parseRemote(remote, host);
  expect(found && `${found.owner}/${found.name}`).toBe(name);
});
test.each([
  'https://github.com.evil.example/ann/app.git',
  'https://evil.example/github.com/app.git',
  'https://github.com@evil.example/ann/app.git',
  'git@evil.example:ann/app.git',
  'https://github.com/ann/app/../../user',
  'https://github.com/ann',
  'https://github.com/ann/..',
  'file:///github.com/ann/app',
  'ext::sh -c id',
  '/tmp/x',
  '',
])('the remote %j is no repository on github.com', (remote) => expect(parseRemote(remote, 'github.com')).toBeNull());
test.each([
  ['facebook/react', { owner: 'facebook', name: 'react' }],
  ['a/b.c_d-e', { owner: 'a', name: 'b.c_d-e' }],
  ['react', null],
  ['a/b/c', null],
  ['a/..', null],
  ['a/b?per_page=1', null],
  ['a/b#', null],
  ['../user', null],
  ['a /b', null],
])('%j names the repository %j', (text, repository) => expect(parseFullName(text)).toEqual(repository));
test('the host of repositories follows from the address of the API', () => {
  expect(webHost('https://api.github.com')).toBe('github.com');
  expect(webHost('https://git.example.com/api/v3')).toBe('git.example.com');
  expect(webHost('https://api.acme.ghe.com')).toBe('acme.ghe.com');
  expect(webHost('https://api.evil.example')).toBe('api.evil.example');
});

test.each([
  'npm test',
  'npm run test:unit -- x',
  'npx vitest run a.test.ts',
  'pytest -k "a b"',
  'go test ./...',
  'python -m pytest',
  'cargo test',
])('%j is the command of a test runner', (line) => expect(isTestCommand(line)).toBe(true));
test.each([
  'rm -rf .',
  'npm run deploy',
  'npm install',
  'testing',
  'npm run test-deploy/../x',
  'bash -c "npm test"',
  'env npm test',
  '',
])('%j is none', (line) => expect(isTestCommand(line)).toBe(false));
test('quotes hold words together and mean nothing else', () => {
  expect(splitWords(`pytest -k "a b" 'c d' e"f g" $(id) ;`)).toEqual([
    'pytest',
    '-k',
    'a b',
    'c d',
    'ef g',
    '$(id)',
    ';',
  ]);
});
