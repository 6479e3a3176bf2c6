import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { HOUR } from '../../../domain/time.ts';
import { type AuditHead, auditEntry, auditHead } from '../../../store/home/audit-log.ts';
import type { Db } from '../../../store/postgres/database.ts';

/**
 * The newest entry of the audit log is noted in a file of the home: the database alone cannot tell when its end was cut
 * off.
 */

const fileOf = (home: string): string => join(home, 'audit-head');

export function notedHead(home: string): AuditHead | null {
  try {
    const { seq, hash } = JSON.parse(readFileSync(fileOf(home), 'utf8')) as AuditHead;
    return Number.isInteger(seq) && typeof hash === 'string' ? { seq, hash } : null;
  } catch {
    return null;
  }
}

export function noteHead(home: string, head: AuditHead): void {
  writeFileSync(`${fileOf(home)}.new`, `${JSON.stringify(head)}\n`, { mode: 0o600 });
  renameSync(`${fileOf(home)}.new`, fileOf(home));
}

/**
 * Notes it now and each hour. A head that the log does not have any more stays noted, so that `fetch audit verify`
 * finds it. Returns a function that ends it.
 */
export function keepAuditHead(db: Db, home: string, log?: Pick<Logger, 'error' | 'warn'>): () => void {
  const keep = async () => {
    const noted = notedHead(home);
    const same = noted && (await auditEntry(db, noted.seq))?.hash.toString('hex') === noted.hash;
    if (noted && !same)
      return log?.error({ entry: noted.seq }, 'the audit log lacks an entry that was there: fetch audit verify');
    const head = await auditHead(db);
    if (head && head.hash !== noted?.hash) noteHead(home, head);
  };
  const tryTo = () =>
    void keep().catch((error: Error) =>
      log?.warn({ error: error.message }, 'the end of the audit log could not be noted'),
    );
  tryTo();
  const timer = setInterval(tryTo, HOUR).unref();
  return () => clearInterval(timer);
}
