import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { originalSessions } from '../../../store/home/imports.ts';
import { JsonFile, unreadable } from './files.ts';
import type { Problem } from './found.ts';

/**
 * The sessions of the original as they are stored: rows of an SQLite file, or a list in a JSON file of older versions.
 */

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
interface Place {
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

function inDatabase(file: string, problems: Problem[]): Row[] {
  if (!existsSync(file)) return [];
  const place = { file, line: null };
  const why = [file, `${file}-wal`].map(unreadable).find((text) => text !== null);
  try {
    if (why) throw new Error(`it ${why}`);
    return originalSessions(file).flatMap(({ id, data }) => rowOf(id, data, place, problems));
  } catch (error) {
    problems.push({ ...place, text: `It cannot be read: ${(error as Error).message}.` });
    return [];
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
  return (json?.list('sessions', problems) ?? []).map((value, at) => ({
    value,
    name: String(at + 1),
    place: { file, line: json!.lineOf('sessions', at) },
  }));
}
