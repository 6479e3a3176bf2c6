import type { Db } from './database.ts';

/** What a process keeps in memory about a database: made on the first use, and gone with the database. */
export function perDatabase<T>(make: () => T): (db: Db) => T {
  const known = new WeakMap<Db, T>();
  return (db) => {
    const found = known.get(db) ?? make();
    known.set(db, found);
    return found;
  };
}
