import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeCluster } from '../../src/cli/postgres.ts';
import { readRunState } from '../../src/cli/state-file.ts';
import { childEnvironment } from '../../src/config.ts';
import { FETCH_SETTING, freePorts } from '../support/app.ts';
import { until } from '../support/until.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../support/whatsapp/fixture.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'fetch-test-'));
let fixture: WhatsAppFixture;
let terminal: ChildProcess;
let shown = '';
let statusUrl: string;

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const sees = (what: string | RegExp) => until(`the terminal shows ${what}`, () => (typeof what === 'string' ? shown.includes(what) : what.test(shown)), 60_000);
const type = (line: string) => terminal.stdin!.write(`${line}\r`);

beforeAll(async () => {
  fixture = await startWhatsAppFixture();
  const [runtime, status, temporal, ui, postgres] = await freePorts(5);
  statusUrl = `http://127.0.0.1:${status}`;
  // answered questions: a first start would ask them
  writeFileSync(join(home, '.env'), 'FETCH_TIME_ZONE=UTC\n', { mode: 0o600 });
  const clean = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')));
  const env = {
    ...clean,
    ...fixture.env,
    FETCH_HOME: home,
    FETCH_RUNTIME_PORT: String(runtime),
    FETCH_STATUS_PORT: String(status),
    FETCH_TEMPORAL_PORT: String(temporal),
    FETCH_TEMPORAL_UI_PORT: String(ui),
    FETCH_POSTGRES_PORT: String(postgres),
    TERM: 'xterm',
  };
  // `script` of util-linux lends a terminal, and takes it away when it ends
  terminal = spawn('script', ['-qefc', `stty cols 120 rows 60; ${process.execPath} ${ENTRY} start`, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  terminal.stdout!.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
});
afterAll(async () => {
  terminal?.kill('SIGKILL');
  await fixture?.close();
  removeCluster(home);
  rmSync(home, { recursive: true, force: true });
});

// other systems have a `script` with other options
describe.skipIf(process.platform !== 'linux')('a start on a terminal', () => {
  it('opens a chat and shows the QR of WhatsApp beside it', async () => {
    await sees('Link a device');
    expect(shown).toContain('/skip');
    type('help');
    await sees('steers me at the next step');
  });

  it('says when the phone has scanned it', async () => {
    const { qrCode } = (await (await fetch(`${statusUrl}/api/status`)).json()) as { qrCode: string };
    await fixture.phone.scan(qrCode);
    await sees(`WhatsApp is linked: +${fixture.account.pn.split('@')[0]}`);
  });

  it('stops every role when the window is closed', async () => {
    const state = await until('every role has a process', () => {
      const found = readRunState(home);
      return found?.roles.length === 6 && found.roles.every((role) => role.pid !== null) ? found : null;
    });
    const pids = [state.supervisor.pid, ...state.roles.flatMap((role) => role.pid ?? [])];
    expect(pids).toHaveLength(7);
    terminal.kill('SIGKILL');
    await until('every process has ended', () => pids.every((pid) => !alive(pid)), 20_000);
  });
});
