import { createHash } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { AuditTable } from '../schema/tables/home.ts';

/** What people allowed, changed and deleted. Triggers of the database write nearly all of it (migration 0050). */

export type AuditEntry = Selectable<AuditTable>;
export interface AuditBody {
  at: string;
  what: string;
  by?: { role: string; channel?: string; id?: string; standing?: string };
  about?: Record<string, unknown>;
  /** the connection that it came by */
  through: string;
}
/** The newest entry, as it is noted outside of the database. */
export type AuditHead = { seq: number; hash: string };

/** For a deed without a row of its own. In a transaction it is written with the deed, or not at all. */
export async function appendAudit(db: Db | Tx, what: string, by: object | null, about: object): Promise<void> {
  await sql`select audit_append(${what}, ${by && json(by)}::jsonb, ${json(about)}::jsonb)`.execute(db);
}

/** Newest first. */
export const newestAudit = (db: Db, limit: number): Promise<AuditEntry[]> =>
  db.selectFrom('audit_log').selectAll().orderBy('seq', 'desc').limit(limit).execute();

export async function auditHead(db: Db): Promise<AuditHead | null> {
  const [newest] = await newestAudit(db, 1);
  return newest ? { seq: newest.seq, hash: newest.hash.toString('hex') } : null;
}

export async function auditEntry(db: Db, seq: number): Promise<AuditEntry | undefined> {
  return await db.selectFrom('audit_log').selectAll().where('seq', '=', seq).executeTakeFirst();
}

/** The same as `audit_append` of the database computes. */
const hashOfEntry = (before: Buffer, { seq, body }: Pick<AuditEntry, 'seq' | 'body'>): Buffer =>
  createHash('sha256').update(before).update(`${seq}\n${body}`).digest();

interface Verified {
  entries: number;
  head: AuditHead | null;
  /** what is wrong, in sentences */
  findings: string[];
}

const PAGE = 1000;

/** Reads the whole log. After a finding it goes on with the hash that is stored, so that one change is one finding. */
export async function verifyAudit(db: Db, noted: AuditHead | null): Promise<Verified> {
  const findings: string[] = [];
  let before: Buffer | null = Buffer.alloc(0);
  let last = 0;
  let entries = 0;
  for (let page = await pageAfter(db, -1); page.length > 0; page = await pageAfter(db, last)) {
    for (const entry of page) {
      if (entry.seq !== last + 1) {
        findings.push(`Entries ${last + 1} to ${entry.seq - 1} are missing.`);
        before = null;
      }
      if (before && !hashOfEntry(before, entry).equals(entry.hash)) findings.push(`Entry ${entry.seq} was changed.`);
      if (noted?.seq === entry.seq && noted.hash !== entry.hash.toString('hex'))
        findings.push(
          `Entry ${entry.seq} is another one than was noted in this home: the log was written again from some entry on.`,
        );
      before = entry.hash;
      last = entry.seq;
      entries += 1;
    }
  }
  if (noted && noted.seq > last)
    findings.push(
      `Entries ${last + 1} to ${noted.seq} were cut off at the end: this home has noted entry ${noted.seq}.`,
    );
  return { entries, head: before && last > 0 ? { seq: last, hash: before.toString('hex') } : null, findings };
}

const pageAfter = (db: Db, seq: number): Promise<AuditEntry[]> =>
  db.selectFrom('audit_log').selectAll().where('seq', '>', seq).orderBy('seq').limit(PAGE).execute();
