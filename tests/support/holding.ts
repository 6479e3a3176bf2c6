import { sql } from 'kysely';
import type { Db } from '../../src/store/postgres/database.ts';

/** Tables in which a word stands anywhere, in texts or bytes. */
export async function holding(db: Db, word: string): Promise<string[]> {
  const { rows } = await sql<{
    name: string;
  }>`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(
    db,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const hex = Buffer.from(word).toString('hex');
    const { rows: hits } =
      await sql`select 1 from ${sql.table(name)} as row where row::text like ${`%${word}%`} or row::text like ${`%${hex}%`} limit 1`.execute(
        db,
      );
    if (hits.length > 0) found.push(name);
  }
  return found.sort();
}
