import type { Db } from './database.ts';

/** What a process keeps in memory for a database: created on first use, and removed with the database. */
export function perDatabase<T>(make: () => T): (db: Db) => T {
  const known = new WeakMap<Db, T>();
  return (db) => {
    const found = known.get(db) ?? make();
    known.set(db, found);
    return found;
  };
}
