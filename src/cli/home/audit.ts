import type { Config } from '../../config.ts';
import { type AuditBody, type AuditEntry, newestAudit, verifyAudit } from '../../store/home/audit-log.ts';
import { verifyReceipts } from '../../store/home/receipts.ts';
import { notedHead, noteHead } from '../instance/home/audit-head.ts';
import { withStore } from '../instance/servers/with-store.ts';

/** `fetch audit …`: what people allowed, changed and deleted. */

const write = (text: string): void => void process.stdout.write(`${text}\n`);

export const list = (config: Config, { count, json }: { count: number; json?: boolean }): Promise<void> =>
  withStore(config, 'fetch-audit', async ({ db }) => {
    const entries = (await newestAudit(db, count)).reverse();
    for (const entry of entries)
      write(json ? `{"seq":${entry.seq},"hash":"${entry.hash.toString('hex')}","body":${entry.body}}` : lineOf(entry));
    if (entries.length === 0 && !json) write('Nothing was allowed, changed or deleted yet.');
  });

/** Exit code 1: something is wrong. */
export const verify = (config: Config): Promise<void> =>
  withStore(config, 'fetch-audit', async ({ db }) => {
    const { entries, head, findings: ofLog } = await verifyAudit(db, notedHead(config.FETCH_HOME));
    const { receipts, findings: ofReceipts } = await verifyReceipts(db);
    const findings = [...ofLog, ...ofReceipts];
    for (const finding of findings) write(finding);
    if (findings.length > 0) {
      process.exitCode = 1;
      return;
    }
    if (head) noteHead(config.FETCH_HOME, head);
    write(head ? `${entries} entries, unbroken. Entry ${head.seq} is ${head.hash}.` : 'The log is empty.');
    if (receipts > 0) write(`${receipts} receipts, unbroken.`);
  });

export function lineOf({ seq, body }: AuditEntry): string {
  const { at, what, by, about = {}, through } = JSON.parse(body) as AuditBody;
  const who = by
    ? ` by ${[by.role, by.id, by.channel && `on ${by.channel}`, by.standing && `(with the answer to ${by.standing})`].filter(Boolean).join(' ')}`
    : '';
  const details = Object.entries(about).map(
    ([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : value}`,
  );
  return `${seq}  ${at}  ${what}${who}  ${details.join(' ')}  [${through}]`;
}
