import { styleText } from 'node:util';
import type { Config } from '../../config.ts';
import type { DeliveryFigures, WhatsAppReport } from '../../contracts/whatsapp.ts';
import { moneyText } from '../../domain/model/price-book.ts';
import { openStore } from '../../store/postgres/database.ts';
import { dearestToday } from '../../store/turns/steps/spending.ts';
import { diskWarning } from '../instance/home/home.ts';
import { clusterFolder, databaseUrl } from '../instance/servers/postgres.ts';
import { VIEWS } from '../instance/servers/ui-views.ts';
import { readStatus } from '../instance/status-report.ts';
import { howItRuns, howText } from '../setup/background/find-service.ts';
import { whatsappClientOf } from '../setup/whatsapp/whatsapp-client.ts';

const DEAREST = 3;

/** Lines of `fetch status` with links to the Temporal Web UI: what waits, what failed, and what spent most today. */
async function statusLinks(config: Config, ui: string): Promise<string[]> {
  const workflows = `${ui}/namespaces/${encodeURIComponent(config.TEMPORAL_NAMESPACE)}/workflows`;
  const lists = (['waiting', 'failed'] as const).map(
    (name) => `${name} ${workflows}?query=${encodeURIComponent(VIEWS[name].query)}`,
  );
  return [...lists, ...(await dearest(config, workflows))];
}

async function dearest(config: Config, workflows: string): Promise<string[]> {
  const store = await openStore(
    config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? databaseUrl(config.FETCH_HOME, config.FETCH_POSTGRES_PORT),
    {
      max: 1,
      application: 'fetch-status',
      migrate: false,
    },
  ).catch(() => null);
  try {
    const rows = store ? await dearestToday(store.db, DEAREST, config.FETCH_TIME_ZONE) : [];
    return rows.map(
      (row) =>
        `dearest today ${row.unpriced > 0 ? 'at most ' : ''}${moneyText({ tokens: 0, microUsd: Number(row.micro_usd) })} ${workflows}/${encodeURIComponent(row.workflow_id)}`,
    );
  } catch {
    // its role reports that the database is away
    return [];
  } finally {
    await store?.close();
  }
}

/** WhatsApp as `fetch status --json` shows it; times are RFC 3339 UTC. */
interface WhatsAppStatus extends Pick<WhatsAppReport, 'state' | 'number' | 'sendsPausedUntil' | 'lastError'> {
  /** masked, because people paste the status into reports */
  phone: string | null;
  today: DeliveryFigures;
}

const PATIENCE_MS = 2_000;

/** The state of WhatsApp; null when the running instance does not tell. */
async function whatsappStatus(config: Config): Promise<WhatsAppStatus | null> {
  try {
    const { state, number, sendsPausedUntil, lastError, phone, today } = await (await whatsappClientOf(config)).view(
      AbortSignal.timeout(PATIENCE_MS),
    );
    return { state, phone: phone && masked(phone), number, sendsPausedUntil, lastError, today };
  } catch {
    return null;
  }
}

/** The first two and the last two digits of a number. */
const masked = (phone: string): string =>
  `+${phone.slice(0, 2)}${'*'.repeat(Math.max(3, phone.length - 4))}${phone.slice(-2)}`;

function whatsappLines({ state, phone, number, sendsPausedUntil, lastError, today }: WhatsAppStatus): string[] {
  if (phone === null && state === 'disconnected') return ['whatsapp not linked (fetch pair links it)'];
  const { sent, delivered, read, failed } = today;
  return [
    ['whatsapp', state.replace('_', ' '), ...(phone ? [phone, `${number} number`] : [])].join(' '),
    ...(sendsPausedUntil ? [`  nothing is sent until ${sendsPausedUntil}`] : []),
    ...(lastError ? [`  ${lastError}`] : []),
    ...(phone ? [`  sent today: ${read} read, ${delivered} delivered, ${sent} sent, ${failed} failed`] : []),
  ];
}

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
