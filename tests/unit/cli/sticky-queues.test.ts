import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, it, onTestFinished } from 'vitest';
import { stickyQueues } from '../../../src/cli/roles/temporal/sticky-queues.ts';

it('a worker starts beside what a killed one had only half written, and removes it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-workers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, '11.json'), '');
  writeFileSync(join(folder, '12.json'), '{"process":{"pid":12,"sta');
  // nobody has to be asked
  const client = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });
  await expect(stickyQueues(client, 'default', folder)).resolves.toBeDefined();
  expect(readdirSync(folder)).toEqual([]);
});
