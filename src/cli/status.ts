import { styleText } from 'node:util';
import type { Config } from '../config.ts';
import { diskWarning } from './home.ts';
import { urlsOf } from './instance.ts';
import { clusterFolder } from './postgres.ts';
import { isAlive } from './process-identity.ts';
import { type RoleStatus, readRunState, type Urls } from './state-file.ts';

export interface StatusReport {
  roles: RoleStatus[];
  home: string;
  urls: Urls;
}

/** What runs for this home. After the supervisor is gone its roles are `stopped`, whatever the record says. */
export async function readStatus(config: Config): Promise<StatusReport & { running: boolean }> {
  const home = config.FETCH_HOME;
  const state = readRunState(home);
  const running = state !== null && (await isAlive(state.supervisor));
  const roles = (state?.roles ?? []).map(
    ({ startTime: _, ...role }): RoleStatus => (running || role.state === 'external' ? role : { ...role, pid: null, state: 'stopped' }),
  );
  return { running, roles, home, urls: state?.urls ?? urlsOf(config) };
}

/** `fetch status`; the exit code is 0 while an instance runs, 3 when none does. */
export async function run(config: Config, options: { json?: boolean }): Promise<void> {
  const { running, ...report } = await readStatus(config);
  process.exitCode = running ? 0 : 3;
  // loaded here, because it reads the status itself
  const { whatsappLines, whatsappStatus } = await import('./whatsapp-status.ts');
  const whatsapp = running ? await whatsappStatus(config) : null;
  if (options.json) return void process.stdout.write(`${JSON.stringify({ ...report, whatsapp })}\n`);
  if (!running) return void process.stdout.write(`Nothing runs for ${report.home}. Start it: fetch start\n`);
  const rows = report.roles.map((role) => [
    role.name,
    role.state,
    role.pid === null ? '' : String(role.pid),
    `since ${role.since}`,
    role.address ?? '',
    role.restarts > 0 ? `restarts ${role.restarts}` : '',
  ]);
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const [index, row] of rows.entries()) {
    const { state, lastError } = report.roles[index]!;
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    cells[1] = styleText(state === 'ready' || state === 'external' ? 'green' : 'yellow', cells[1]!);
    process.stdout.write(`${cells.join('  ').trimEnd()}\n${lastError ? `  last error: ${lastError}\n` : ''}`);
  }
  if (whatsapp) process.stdout.write(`${whatsappLines(whatsapp).join('\n')}\n`);
  for (const folder of new Set([report.home, clusterFolder(report.home) ?? report.home])) {
    const warning = diskWarning(folder);
    if (warning) process.stdout.write(`${styleText('yellow', warning)}\n`);
  }
  const { runtime, status, temporalUi } = report.urls;
  process.stdout.write(`home ${report.home}\nruntime ${runtime}\nstatus ${status}\n${temporalUi ? `Temporal Web UI ${temporalUi}\n` : ''}`);
}
