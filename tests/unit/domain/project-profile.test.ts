import { describe, expect, it } from 'vitest';
import { baselineOfQuestion } from '../../../src/contracts/ids.ts';
import { parseCheck, parseProfile } from '../../../src/domain/chat/words/profile-words.ts';
import {
  argvFor,
  argvOf,
  budgetOf,
  type Checked,
  checkedText,
  checkQuestion,
  commandsOf,
  flakyIn,
  isOutdated,
  lineOf,
  NO_PROFILE,
  profileForAgent,
  profileText,
  uncheckedText,
  wantedHosts,
} from '../../../src/domain/tasks/checks/project-profile.ts';
import { sayIn } from '../../../src/domain/texts/say.ts';

const npm = { manager: 'npm', host: 'registry.example.com', port: 443, address: 'https://registry.example.com/' };
const checked: Checked = {
  commit: 'c0ffee',
  dependencies: 'd1',
  at: '2026-11-27T07:00:00.000Z',
  parts: {
    install: { command: 'npm ci', ok: true, ms: 12_000 },
    test: { command: 'npm test', ok: true, ms: 8_000 },
  },
  tests: { passed: 40, failed: 0, skipped: 0, failing: [] },
};
const files = { install: ['npm', 'ci'], test: ['npm', 'test'], run: ['npm', 'start'] };

describe('the question about a project that has come in', () => {
  it('names all that is missing in one sentence', () => {
    const pip = { ...npm, manager: 'pip', host: 'own.example.com', port: 8443 };
    expect(checkQuestion({ workspace: 'demo', registries: [npm, pip], environment: null })).toBe(
      "I can install and test demo once, on a copy, so that I know what is green before I change anything. It needs npm's registry (registry.example.com) and pip's registry (own.example.com:8443). Allow, and remember for this project?\nPort 8443 is an unusual one.",
    );
    const environment = '.devcontainer/devcontainer.json';
    expect(checkQuestion({ workspace: 'demo', registries: [], environment })).toContain(
      'It needs what .devcontainer/devcontainer.json asks for (below).',
    );
  });

  it('names the hosts that a check failed without, with what their names warn of', () => {
    const refused = [{ host: 'gems.example.com', port: 443 }];
    const install = { command: 'bundle install', ok: false, ms: 900 };
    const failed: Checked = { ...checked, parts: { install }, tests: null, refused };
    const wanted = wantedHosts(failed, 'd1');
    expect(checkQuestion({ workspace: 'demo', registries: [], wanted, environment: null })).toBe(
      'demo could not be installed and tested without more than it may reach. It needs gems.example.com. Allow, and remember for this project?',
    );
    const plain = { host: 'plain.example.com', port: 80 };
    expect(checkQuestion({ workspace: 'demo', registries: [], wanted: [plain], environment: null })).toMatch(
      /It needs http:\/\/plain\.example\.com\. Allow[^\n]*\nThat is without encryption/,
    );
    // the files have changed, or it works without them
    expect(wantedHosts(failed, 'd2')).toEqual([]);
    expect(wantedHosts({ ...checked, refused }, 'd1')).toEqual([]);
    expect(wantedHosts({ ...failed, refused: [{ host: '::1', port: 443 }] }, 'd1')).toEqual([]);
    const untested = { ...checked, parts: { test: { ...install, command: 'gradle test' } }, tests: null, refused };
    expect(wantedHosts(untested, 'd1')).toEqual(refused);
    const red = { ...untested, tests: { passed: 1, failed: 1, skipped: 0, failing: ['calls'] } };
    expect(wantedHosts(red, 'd1')).toEqual([]);
  });

  it('is followed by what happens without a yes', () => {
    expect(uncheckedText('demo', 'no')).toBe('demo stays unchecked. `check demo` asks again.');
    expect(uncheckedText('demo', 'gone')).toBe('demo could not be checked: its folder is not there any more.');
  });

  it('has an id that names its check', () => {
    expect(baselineOfQuestion('bas_0123456789_abc')).toBe('bas_0123456789');
    expect(baselineOfQuestion('tsk_0123456789_abc')).toBeNull();
  });
});

describe('what a check has found', () => {
  it('is told with the result first', () => {
    expect(checkedText('demo', checked, [])).toBe('demo is ready: it installs (12 s) and 40 tests pass (8 s).');
    const red: Checked = {
      ...checked,
      parts: { ...checked.parts, test: { command: 'npm test', ok: false, ms: 8_000, output: 'x' } },
      tests: { passed: 39, failed: 1, skipped: 0, failing: ['adds'] },
    };
    expect(checkedText('demo', red, ['draws'])).toBe(
      [
        'demo has failing tests: 1 of 40 tests fails (8 s). That is so before any change of mine.',
        'Failing: `adds`.',
        'These pass only sometimes: `draws`.',
      ].join('\n'),
    );
  });

  it('is told in the language of the person', () => {
    const german = sayIn('de');
    const built = { ...checked.parts, build: { command: 'make', ok: true, ms: 3_000 } };
    expect(checkedText('demo', { ...checked, parts: built }, [], german)).toBe(
      'demo ist bereit: es lässt sich installieren (12 s) und bauen (3 s) und 40 Tests laufen durch (8 s).',
    );
    expect(checkedText('demo', { ...checked, parts: {}, tests: null }, [], sayIn('es'))).toBe(
      'demo está listo: no hay nada que instalar ni probar.',
    );
    expect(checkQuestion({ workspace: 'demo', registries: [npm], environment: null }, sayIn('fr'))).toMatch(
      /^Je peux installer et tester demo .* Il faut le registre de npm \(registry\.example\.com\)\. Autoriser/,
    );
    expect(uncheckedText('demo', 'failed', german)).toMatch(/`check demo` versucht es noch einmal\.$/);
    const known = { ...NO_PROFILE, said: { lint: 'make lint' }, checked };
    expect(profileText('demo', commandsOf(files, known), known, german)).toMatch(
      /^Die Arbeit an demo:\n- installiert mit `npm ci`, 12 s\n.*\n- gelintet mit `make lint`, wie du gesagt hast\n/,
    );
  });

  it('quotes the end of what a failed part printed, and names refused hosts', () => {
    const failed: Checked = {
      ...checked,
      parts: { install: { command: 'npm ci', ok: false, ms: 900, output: 'one\nnpm error 404' } },
      tests: null,
      refused: [{ host: 'files.example.com', port: 443 }],
    };
    expect(checkedText('demo', failed, [])).toBe(
      [
        'demo cannot be installed. That is so before any change of mine.',
        'It also wanted files.example.com, which nobody has allowed: a task that needs it asks.',
        '`npm ci` ended with:\n> one\n> npm error 404',
      ].join('\n'),
    );
  });

  it('is old when the files that say what is installed have changed, or many commits later', () => {
    expect(isOutdated(checked, { dependencies: 'd1', ahead: 3 })).toBe(false);
    expect(isOutdated(checked, { dependencies: 'd2', ahead: 0 })).toBe(true);
    expect(isOutdated(checked, { dependencies: 'd1', ahead: 200 })).toBe(true);
    expect(isOutdated(checked, { dependencies: 'd1', ahead: null })).toBe(true);
  });

  it('bounds how long a command may run', () => {
    expect(budgetOf(undefined, 300_000)).toBe(300_000);
    expect(budgetOf(1_000, 300_000)).toBe(300_000);
    expect(budgetOf(600_000, 300_000)).toBe(1_800_000);
    expect(budgetOf(3_000_000, 300_000)).toBe(3_600_000);
  });
});

describe('the commands of a project', () => {
  it('are those of its person, and for the rest those of its files', () => {
    const said = { test: 'make check', lint: 'cd web && npm run lint' };
    expect(commandsOf(files, { said })).toEqual({
      install: 'npm ci',
      test: 'make check',
      lint: 'cd web && npm run lint',
      run: 'npm start',
    });
    expect(commandsOf(null, { said: {}, checked })).toEqual({ install: 'npm ci', test: 'npm test' });
    expect(argvFor('test', files, said)).toEqual(['make', 'check']);
    expect(argvFor('install', files, said)).toEqual(['npm', 'ci']);
    expect(argvFor('build', files, said)).toBeNull();
  });

  it('are given to a shell only where a shell is needed', () => {
    expect(argvOf('pytest -k "a b"')).toEqual(['pytest', '-k', 'a b']);
    expect(argvOf('cd web && npm test')).toEqual(['bash', '-lc', 'cd web && npm test']);
    expect(argvOf('CI=1 npm test')).toEqual(['bash', '-lc', 'CI=1 npm test']);
    expect(lineOf(argvOf('cd web && npm test'))).toBe('cd web && npm test');
  });

  it('are shown to their person with how long they take', () => {
    const known = { ...NO_PROFILE, said: { lint: 'make lint' }, checked, flaky: ['draws'] };
    expect(profileText('demo', commandsOf(files, known), known)).toBe(
      [
        'How demo is worked on:',
        '- installed by `npm ci`, 12 s',
        '- tested by `npm test`, 8 s',
        '- linted by `make lint`, as you said',
        '- started by `npm start`',
        'At the last check 40 tests pass (8 s).',
        'These tests pass only sometimes: `draws`.',
      ].join('\n'),
    );
    expect(profileText('demo', {}, NO_PROFILE)).toBe('How demo is tested is not known. Say it: `demo is tested by …`.');
  });

  it('are told to agents once something is known that the files do not say', () => {
    expect(profileForAgent(commandsOf(files, NO_PROFILE), NO_PROFILE)).toBe('');
    expect(profileForAgent(commandsOf(files, NO_PROFILE), { ...NO_PROFILE, checked })).toBe(
      [
        'What is known of this project:',
        '- installed by: npm ci (took 12 s)',
        '- tested by: npm test (took 8 s)',
        '- started by: npm start',
      ].join('\n'),
    );
  });

  it('are said and forgotten in words', () => {
    expect(parseProfile('demo is tested by make check')).toEqual({ name: 'demo', part: 'test', command: 'make check' });
    expect(parseProfile('demo is run with `npm run dev`')).toEqual({
      name: 'demo',
      part: 'run',
      command: 'npm run dev',
    });
    expect(parseProfile('Forget how demo is tested.')).toEqual({ name: 'demo', part: 'test', command: null });
    expect(parseProfile('demo is type-checked by npx tsc')).toMatchObject({ part: 'types', command: 'npx tsc' });
    expect(parseProfile('forget how demo is typechecked')).toMatchObject({ part: 'types', command: null });
    expect(parseProfile('my house is built by my uncle')).toBeNull();
    expect(parseProfile('how is demo tested?')).toBeNull();
    expect(parseCheck('check demo again')).toEqual({ name: 'demo' });
    expect(parseCheck('check the weather in Rome')).toBeNull();
  });
});

it('finds the tests that failed in one run and passed in another', () => {
  const run = (outcome: 'passed' | 'failed') => ({
    cases: [
      { name: 'draws', outcome, ms: null },
      { name: 'adds', outcome: 'failed' as const, ms: null },
    ],
  });
  expect(flakyIn([run('passed'), run('failed')])).toEqual(['draws']);
});
