import { styleText } from 'node:util';
import type { Config } from '../../../config.ts';
import { diskWarning } from '../../instance/home/home.ts';
import { clusterFolder } from '../../instance/servers/postgres.ts';
import { readStatus } from '../../instance/status-report.ts';
import { howItRuns, howText } from '../../setup/background/how-it-runs.ts';
import { statusLinks } from './status-links.ts';
import { whatsappLines, whatsappStatus } from './whatsapp-status.ts';

/** `fetch status`; the exit code is 0 while an instance runs, 3 when none does. */
export async function run(config: Config, options: { json?: boolean }): Promise<void> {
  const { running, ...report } = await readStatus(config);
  process.exitCode = running ? 0 : 3;
  const runs = await howItRuns(report.home);
  const whatsapp = running ? await whatsappStatus(config) : null;
  if (options.json) return void process.stdout.write(`${JSON.stringify({ ...report, runs, whatsapp })}\n`);
  if (!running)
    return void process.stdout.write(
      `Nothing runs for ${report.home}. Start it: fetch start, or in the background: fetch up\n`,
    );
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
  if (runs.bound)
    process.stdout.write(
      `${styleText('yellow', `${runs.bound.text}${runs.bound.mend ? `: ${runs.bound.mend}` : ''}`)}\n`,
    );
  const { runtime, status, temporalUi } = report.urls;
  const links = temporalUi ? await statusLinks(config, temporalUi) : [];
  const ui = temporalUi ? `Temporal Web UI ${temporalUi} (fetch ui lets a browser in)\n` : '';
  process.stdout.write(
    `runs ${howText(runs)}\n${runs.log ? `log ${runs.log}\n` : ''}home ${report.home}\nruntime ${runtime}\nstatus ${status}\n${ui}${links.map((link) => `  ${link}\n`).join('')}`,
  );
}
