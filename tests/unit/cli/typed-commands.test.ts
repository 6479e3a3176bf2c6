import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { typedCommand, withTypedCommands } from '../../../src/installation.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const NAMES = ['start', 'up', 'kennel', 'kennel-worker', 'config'];
const inClone = (text: string) => withTypedCommands(text, NAMES, true);

it('names commands in the form that works in a clone', () => {
  expect(typedCommand('up')).toBe('npm run fetch -- up');
  expect(inClone('Start it: fetch start, or "fetch up --at-login" (fetch kennel-worker).')).toBe(
    'Start it: npm run fetch -- start, or "npm run fetch -- up --at-login" (npm run fetch -- kennel-worker).',
  );
  expect(inClone('TEMPORAL_ADDRESS=a fetch up\nfetch config set A b')).toBe(
    'TEMPORAL_ADDRESS=a npm run fetch -- up\nnpm run fetch -- config set A b',
  );
});

it('leaves what is no command, and an installed package, as they are', () => {
  for (const text of ['to fetch startled cats', 'npm run fetch -- up', 'prefetch up', '/opt/bin/fetch up', 'fetch it'])
    expect(inClone(text)).toBe(text);
  expect(withTypedCommands('fetch up', NAMES, false)).toBe('fetch up');
});

const run = (...args: string[]) => {
  const env = { ...process.env, FETCH_HOME: join(tmpdir(), 'fetch-home-of-nobody') };
  const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin/fetch.js'), ...args], { env });
  return `${stdout}${stderr}`;
};

it.each([[['ps']], [['pair']]])('fetch %j says how to begin where nothing was started, and blames no file', (args) => {
  expect(run(...args)).toMatch(/^Nothing was started with \S+ yet\. Start it: (?:npm run )?fetch (?:-- )?start, or /);
});

it('every command has its group in the help', () => {
  const headings = run('--help').match(/^\S.*:$/gm);
  expect(headings?.slice(0, 3)).toEqual(['Options:', 'First:', 'Every day:']);
  expect(headings).not.toContain('Commands:');
});
