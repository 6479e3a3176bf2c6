import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ensureHome } from '../../../src/cli/instance/home/home.ts';
import { createSupervisor, type Supervisor } from '../../../src/cli/instance/supervisor/supervisor.ts';
import { until } from '../../support/until.ts';

let home: string;
let supervisor: Supervisor;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'fetch-supervisor-'));
  ensureHome(home);
  supervisor = await createSupervisor({ home, urls: { runtime: '', status: '', temporalUi: '' } });
});
afterEach(async () => {
  await supervisor.stopAll();
  rmSync(home, { recursive: true, force: true });
});

/** Runs a worker: this code, after it has said that it serves. */
function start(code: string): void {
  supervisor.start({
    roles: ['worker'],
    log: 'worker',
    file: process.execPath,
    args: ['-e', `${code}; setInterval(() => {}, 1000); process.send({ role: 'worker', type: 'ready' });`],
    env: {},
    readiness: 'message',
    address: null,
    stops: 'work',
    stopSignal: 'SIGKILL',
    stopLimitMs: 1_000,
  });
}

it('a role that hangs at its exit after a stop by somebody else is killed, and the next one is started', async () => {
  start(`process.on('SIGTERM', () => process.send({ type: 'stopping', withinMs: 0 }, () => { for (;;); }))`);
  await supervisor.whenReady('worker');
  const pid = supervisor.roles()[0]!.pid!;
  process.kill(pid, 'SIGTERM');
  await until('the next worker serves', () => {
    const [now] = supervisor.roles();
    return now!.pid !== pid && now!.state === 'ready';
  });
  expect(supervisor.roles()[0]).toMatchObject({ restarts: 1, lastError: 'killed by SIGKILL' });
});
