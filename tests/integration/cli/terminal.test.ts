import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRunState } from '../../../src/cli/instance/home/state-file.ts';
import { removeCluster } from '../../../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../../../src/config.ts';
import { FETCH_SETTING, freePorts } from '../../support/app.ts';
import { until } from '../../support/until.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../../support/whatsapp/fixture.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'fetch-test-'));
let fixture: WhatsAppFixture;
let terminal: ChildProcess;
/** what the terminal was sent, with its control sequences, which may come in two parts */
let sent = '';
const shown = () => stripVTControlCharacters(sent);
let statusUrl: string;
let env: Record<string, string>;

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const sees = (what: string) =>
  until(`the terminal shows ${what}`, () => shown().includes(what), 60_000).catch((error) => {
    throw new Error(`${error.message}\nIt shows:\n${shown().slice(-3000)}`);
  });
const type = (line: string) => terminal.stdin!.write(`${line}\r`);

beforeAll(async () => {
  fixture = await startWhatsAppFixture();
  const [runtime, status, temporal, ui, postgres] = await freePorts(5);
  statusUrl = `http://127.0.0.1:${status}`;
  // answered questions: a first start would ask them
  writeFileSync(join(home, '.env'), 'FETCH_TIME_ZONE=UTC\n', { mode: 0o600 });
  const ofTests = (name: string) => FETCH_SETTING.test(name) || name.startsWith('VITEST');
  // with colours a word to type has no quotes around it
  const clean = Object.fromEntries(
    Object.entries(childEnvironment({})).filter(([name]) => !ofTests(name) && name !== 'NO_COLOR'),
  );
  env = {
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
  terminal = spawn('script', ['-qefc', `stty cols 80 rows 24; exec ${process.execPath} ${ENTRY} start`, '/dev/null'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  terminal.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    sent += chunk;
  });
});
afterAll(async () => {
  terminal?.kill('SIGKILL');
  await promisify(execFile)(process.execPath, [ENTRY, 'stop', '--now'], { env });
  await fixture?.close();
  removeCluster(home);
  rmSync(home, { recursive: true, force: true });
});

// other systems have a `script` with other options
describe.skipIf(process.platform !== 'linux')('a start on a terminal', () => {
  it('opens a chat with three things to try, and help shows them again', async () => {
    await sees('Three things to try:');
    await sees('3. every minute: a schedule');
    type('help');
    await sees('help all');
  });

  it('takes a paste of many lines as one message', async () => {
    terminal.stdin!.write(`\x1b[200~count to 3\n${'and more\n'.repeat(40)}\x1b[201~\r`);
    await sees('… (41 lines)');
    await sees('Practice');
  });

  it('contacts WhatsApp only when it is asked to, and shows the QR in this window of 80x24', async () => {
    expect(fixture.connections).toHaveLength(0);
    type('whatsapp');
    await sees('Link a device');
    expect(shown()).toContain('/skip');
    expect(fixture.connections.length).toBeGreaterThan(0);
  });

  it('says when the phone has scanned it', async () => {
    const { qrCode } = (await (await fetch(`${statusUrl}/api/status`)).json()) as { qrCode: string };
    await fixture.phone.scan(qrCode);
    await sees(`WhatsApp is linked: +${fixture.account.pn.split('@')[0]}`);
  });

  it('goes on in every role when the window is closed, until it is stopped', async () => {
    const state = await until('every role has a process', () => {
      const found = readRunState(home);
      return found?.roles.length === 6 && found.roles.every((role) => role.pid !== null) ? found : null;
    });
    const pids = [state.supervisor.pid, ...state.roles.flatMap((role) => role.pid ?? [])];
    expect(pids).toHaveLength(7);
    const window = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, 'utf8').trim();
    terminal.kill('SIGKILL');
    await until('the window is closed', () => window !== '' && !alive(Number(window)));
    expect(pids.filter(alive)).toEqual(pids);
    const { stdout } = await promisify(execFile)(process.execPath, [ENTRY, 'stop'], { env });
    expect(stdout).toContain('Stopped');
    // the process that adopted them may take a moment to notice
    await until('every process has ended', () => pids.every((pid) => !alive(pid)), 20_000);
  });
});
