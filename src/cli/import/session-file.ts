import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { JsonFile, unreadable } from './files.ts';
import type { Problem } from './found.ts';

/** The sessions of the original as they are stored: rows of an SQLite file, or a list in a JSON file of older versions. */

/** What is used of a session. The original adds fields from version to version. */
const session = z.object({
  id: z.string().min(1).max(200),
  userId: z.string().min(1).max(200),
  messages: z.array(z.unknown()),
  currentProject: z.object({ name: z.string() }).nullish(),
  preferences: z.object({ autonomyLevel: z.string().optional() }).nullish(),
});
export type StoredSession = z.output<typeof session>;

/** Where a session was read. */
export interface Place {
  file: string;
  line: number | null;
}

export function storedSessions(data: string, problems: Problem[]): Array<{ session: StoredSession; place: Place }> {
  const rows = [...inDatabase(join(data, 'sessions.db'), problems), ...inJson(join(data, 'sessions.json'), problems)];
  const known = new Set<string>();
  return rows.flatMap(({ value, name, place }) => {
    const read = session.safeParse(value);
    if (!read.success) {
      problems.push({
        ...place,
        text: `Session ${name} cannot be read: ${read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}.`,
      });
      return [];
    }
    // the newer file comes first
    if (known.has(read.data.id)) return [];
    known.add(read.data.id);
    return [{ session: read.data, place }];
  });
}

type Row = { value: unknown; name: string; place: Place };

/** A copy is read, so that neither the file nor what stands beside it changes. */
function inDatabase(file: string, problems: Problem[]): Row[] {
  if (!existsSync(file)) return [];
  const place = { file, line: null };
  const why = [file, `${file}-wal`].map(unreadable).find((text) => text !== null);
  if (why) {
    problems.push({ ...place, text: `It ${why}.` });
    return [];
  }
  const folder = mkdtempSync(join(tmpdir(), 'fetch-import-'));
  try {
    const copy = join(folder, 'sessions.db');
    for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
    const db = new DatabaseSync(copy);
    try {
      return db
        .prepare('select id, data from sessions order by rowid')
        .all()
        .flatMap(({ id, data }) => rowOf(String(id), String(data), place, problems));
    } finally {
      db.close();
    }
  } catch (error) {
    problems.push({ ...place, text: `It cannot be read: ${(error as Error).message}.` });
    return [];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function rowOf(id: string, data: string, place: Place, problems: Problem[]): Row[] {
  try {
    return [{ value: JSON.parse(data), name: id, place }];
  } catch (error) {
    problems.push({ ...place, text: `Session ${id} is no JSON: ${(error as Error).message}.` });
    return [];
  }
}

function inJson(file: string, problems: Problem[]): Row[] {
  const json = JsonFile.read(file, problems);
  return (json?.list('sessions', problems) ?? []).map((value, at) => ({ value, name: String(at + 1), place: { file, line: json!.lineOf('sessions', at) } }));
}
