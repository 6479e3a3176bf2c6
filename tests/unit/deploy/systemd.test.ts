import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { childEnvironment } from '../../../src/config.ts';

const UNITS = fileURLToPath(new URL('../../../deploy/systemd', import.meta.url));
const ANALYZE = '/usr/bin/systemd-analyze';
const PROGRAM = '/opt/fetch/node_modules/node/bin/node /opt/fetch/bin/fetch.js';

const files = (readdirSync(UNITS, { recursive: true }) as string[]).filter((name) => /\.(service|conf)$/.test(name));
const read = (name: string): string => readFileSync(join(UNITS, name), 'utf8');
const linesOf = (name: string): string[] =>
  read(name)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

test('every line of a unit is a section or a directive, and none of a role is said twice', () => {
  expect(files).toContain('fetch@.service');
  for (const name of files) {
    const lines = linesOf(name);
    expect(lines[0], name).toMatch(/^\[(Unit|Service)\]$/);
    for (const line of lines) expect(line, name).toMatch(/^(\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=\S*.*)$/);
    const directives = lines
      .map((line) => line.split('=')[0]!)
      .filter((directive) => !/^\[|^Environment$/.test(directive));
    expect(new Set(directives).size, name).toBe(directives.length);
  }
});

test('roles and their preparation run without a right of root, and a role without one of the engine', () => {
  const walls = (name: string) =>
    linesOf(name).filter((line) =>
      /^(NoNew|Capab|Ambient|UMask|Protect|Private|Lock|Restrict(?!Prevent)|SystemCall)/.test(line),
    );
  const role = walls('fetch@.service').filter((line) => !line.startsWith('RestartPrevent'));
  for (const wall of [
    'NoNewPrivileges=yes',
    'CapabilityBoundingSet=',
    'ProtectSystem=strict',
    'ProtectHome=yes',
    'SystemCallFilter=@system-service',
  ])
    expect(role).toContain(wall);
  expect(walls('fetch-prepare.service')).toEqual(role);
  expect(
    files.filter((name) => read(name).includes('docker\n') && read(name).includes('SupplementaryGroups=')),
  ).toEqual(['fetch@kennel.service.d/engine.conf']);
  for (const name of files) expect(read(name)).not.toMatch(/^User=root|DATABASE_URL=|TOKEN=|API_KEY=/m);
});

test('the same program starts each of them, and systemd takes them as they are', () => {
  for (const name of files.filter((each) => each.endsWith('.service')))
    expect(read(name)).toContain(`ExecStart=${PROGRAM} `);
  // where systemd is not at hand, the tests above are what is checked
  if (!existsSync(ANALYZE)) return;
  const folder = mkdtempSync(join(tmpdir(), 'fetch-units-'));
  try {
    cpSync(UNITS, folder, { recursive: true });
    // the program is not installed here
    for (const name of files) writeFileSync(join(folder, name), read(name).replace(PROGRAM, process.execPath));
    const roles = ['worker', 'gateway', 'api', 'kennel'].map((role) => `fetch@${role}.service`);
    for (const role of roles) copyFileSync(join(folder, 'fetch@.service'), join(folder, role));
    const units = [...roles, 'fetch-prepare.service'].map((name) => join(folder, name));
    const said = execFileSync('sh', ['-c', '"$@" 2>&1', 'sh', ANALYZE, 'verify', '--man=no', ...units], {
      env: childEnvironment({}),
      encoding: 'utf8',
    });
    // of other units of this machine it may say something, too
    expect(said.split('\n').filter((line) => line.includes('fetch'))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
