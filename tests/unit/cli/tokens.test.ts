import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureToken } from '../../../src/cli/instance/home/home.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-tokens-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test('without ADMIN_TOKEN a token is made, and kept for its user alone', () => {
  const token = ensureToken(home, 'admin-token');
  const file = join(home, 'admin-token');
  expect(token).toMatch(/^fetch_[0-9a-f]{64}$/);
  expect([readFileSync(file, 'utf8').trim(), statSync(file).mode & 0o777]).toEqual([token, 0o600]);
  expect(ensureToken(home, 'admin-token')).toBe(token);
});

test('with ADMIN_TOKEN nothing is made', () => {
  expect([ensureToken(home, 'admin-token', 'mine'), existsSync(join(home, 'admin-token'))]).toEqual(['mine', false]);
});
