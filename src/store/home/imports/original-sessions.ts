import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** A session in the SQLite file of the original Fetch: JSON, if nothing is broken. */
interface OriginalRow {
  id: string;
  data: string;
}

/**
 * The rows of `sessions.db`. A copy is read, so that neither the file nor what stands beside it changes. Throws when it
 * is no such database.
 */
export function originalSessions(file: string): OriginalRow[] {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-import-'));
  try {
    const copy = join(folder, 'sessions.db');
    for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
    const db = new DatabaseSync(copy);
    try {
      const rows = db.prepare('select id, data from sessions order by rowid').all();
      return rows.map(({ id, data }) => ({ id: String(id), data: String(data) }));
    } finally {
      db.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
