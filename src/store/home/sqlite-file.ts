import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Columns by name, as text. A column that the table does not have is null. */
export type SqliteRow<C extends string> = Record<C, string | null>;

interface Wanted<C extends string> {
  table: string;
  columns: readonly C[];
  /** only rows that have this text in this column */
  where?: { column: string; is: string };
  /** oldest first */
  orderBy?: string;
  /** only the newest so many by `orderBy` */
  newest?: number;
  /** no text is cut */
  whole?: boolean;
}

/** A longer text is cut, so that one row cannot fill the memory. */
const LONGEST_TEXT = 200_000;
/** SQLite's own limit. */
const WHOLE_TEXT = 1_000_000_000;

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * An SQLite file of another program. A copy is read, so that neither the file nor what stands beside it changes. Only
 * tables are read: a view could run for ever.
 */
export class SqliteFile {
  private readonly db: DatabaseSync;

  private constructor(db: DatabaseSync) {
    this.db = db;
  }

  /** Reads with `use`, and removes the copy. Throws when it is no such database. */
  static read<T>(file: string, use: (from: SqliteFile) => T): T {
    const folder = mkdtempSync(join(tmpdir(), 'fetch-import-'));
    try {
      const copy = join(folder, 'copy.db');
      for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
      const opened = new SqliteFile(new DatabaseSync(copy));
      try {
        return use(opened);
      } finally {
        opened.db.close();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Names of its tables. */
  tables(): string[] {
    return this.db
      .prepare("select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'")
      .all()
      .map(({ name }) => String(name));
  }

  /** Names of the columns of a table; none when there is no such table. */
  columns(table: string): string[] {
    if (!this.tables().includes(table)) return [];
    return this.db
      .prepare('select name from pragma_table_info(?)')
      .all(table)
      .map(({ name }) => String(name));
  }

  /** None when there is no such table. Throws when the table is damaged. */
  rows<C extends string>({ table, columns, where, orderBy, newest, whole = false }: Wanted<C>): Array<SqliteRow<C>> {
    const there = new Set(this.columns(table));
    if (there.size === 0 || (where && !there.has(where.column))) return [];
    const selected = columns.map((column) =>
      there.has(column)
        ? `substr(cast(${quoted(column)} as text), 1, ${whole ? WHOLE_TEXT : LONGEST_TEXT}) as ${quoted(column)}`
        : `null as ${quoted(column)}`,
    );
    const order = orderBy && there.has(orderBy) ? `${quoted(orderBy)} desc, ` : '';
    const found = this.db
      .prepare(
        `select ${selected.join(', ')} from ${quoted(table)} ${where ? `where ${quoted(where.column)} = ?` : ''}
          order by ${order}rowid desc limit ?`,
      )
      .all(...(where ? [where.is] : []), newest ?? -1);
    return found.reverse() as Array<SqliteRow<C>>;
  }

  /** Rows of a table that have this text in this column. */
  count(table: string, column: string, is: string): number {
    if (!this.columns(table).includes(column)) return 0;
    const sql = `select count(*) as count from ${quoted(table)} where ${quoted(column)} = ?`;
    return Number(this.db.prepare(sql).get(is)!.count);
  }
}
