import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RoleState, tellHealth, wrongRoles } from '../../../src/cli/roles/process/health.ts';
import { until } from '../../support/until.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-health-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Servers that refuse every call. */
const away = {
  store: { db: {} },
  temporal: { withDeadline: () => Promise.reject(new Error('connection refused')) },
} as never;

test('a role that starts or waits is named, and one that is ready is not', () => {
  const states = new Map<string, RoleState>([
    ['worker', 'starting'],
    ['api', 'ready'],
    ['kennel', { waits: 'The name is taken.' }],
  ]);
  expect(wrongRoles(states)).toEqual(['worker is starting', 'kennel waits: The name is taken.']);
});

test('the file names servers that do not answer, is replaced as a whole, and is gone after a stop', async () => {
  const file = join(folder, 'health');
  const end = tellHealth(file, new Map([['api', 'ready']]), away);
  const text = await until('the file is written', () => readFileSync(file, 'utf8'), 10_000);
  expect(text).toBe('PostgreSQL does not answer\nTemporal does not answer: connection refused\n');
  expect(readdirSync(folder)).toEqual(['health']);
  end();
  expect(readdirSync(folder)).toEqual([]);
});
