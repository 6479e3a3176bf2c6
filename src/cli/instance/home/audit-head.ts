import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
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
  // a file that a power cut emptied would note nothing
  writeFileSync(`${fileOf(home)}.new`, `${JSON.stringify(head)}\n`, { mode: 0o600, flush: true });
  renameSync(`${fileOf(home)}.new`, fileOf(home));
}

/** How long an entry may be in the log before the home knows it. */
const NOTED_WITHIN_MS = 1_000;

/** The entry that this home has noted and the log does not have any more; null when the log has it. */
export async function lostHead(db: Db, home: string): Promise<AuditHead | null> {
  const noted = notedHead(home);
  return noted && (await auditEntry(db, noted.seq))?.hash.toString('hex') !== noted.hash ? noted : null;
}

/**
 * Notes each entry within a second. A head that the log does not have any more stays noted, so that `fetch audit
 * verify` and `fetch doctor` find it. An entry whose process was killed before it was noted is noted at the next start.
 * Returns a function that ends it.
 */
export function keepAuditHead(db: Db, home: string, log?: Pick<Logger, 'error' | 'warn'>): () => void {
  let told: string | undefined;
  const keep = async () => {
    const head = await auditHead(db);
    if (head && head.hash === notedHead(home)?.hash) return;
    const lost = await lostHead(db, home);
    if (!lost) return head ? noteHead(home, head) : undefined;
    if (told !== lost.hash)
      log?.error({ entry: lost.seq }, 'the audit log lacks an entry that was there: fetch audit verify');
    told = lost.hash;
  };
  const timer = setInterval(() => tryTo(), NOTED_WITHIN_MS).unref();
  let unknown = '';
  const tryTo = () =>
    void keep().then(
      () => {
        unknown = '';
      },
      ({ message }: Error) => {
        if (message !== unknown) log?.warn({ error: message }, 'the end of the audit log could not be noted');
        unknown = message;
      },
    );
  tryTo();
  return () => clearInterval(timer);
}
