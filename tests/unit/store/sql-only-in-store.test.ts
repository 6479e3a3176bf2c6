import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * What builds or runs a statement: methods of Kysely, and statements that are written out. That only src/store imports
 * kysely and pg is the linter's business.
 */
const QUERY =
  /\.(?:selectFrom|selectNoFrom|insertInto|updateTable|deleteFrom|mergeInto|replaceInto|executeQuery|executeTakeFirst\w*)\b|\bsql(?:\.\w+)?`|['"`]\s*(?:select|insert into|update|delete from)\s[^'"`]*\b(?:from|values|set|where)\b/i;

const buildsQuery = (text: string): boolean =>
  text.split('\n').some((line) => !/^\s*(?:\/\/|\/?\*)/.test(line) && QUERY.test(line));

it('no file outside of src/store builds a query', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((path) => !path.startsWith('src/store/'));
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((path) => buildsQuery(readFileSync(`${root}/${path}`, 'utf8')))).toEqual([]);
});

it.each([
  "await db.selectFrom('chats').selectAll().execute();",
  "  .updateTable('turns')",
  'await sql`select 1`.execute(db);',
  "await client.query('select id from chats where id = $1');",
  'client.query(`delete from inbox where id = $1`)',
])('finds %s', (line) => {
  expect(buildsQuery(line)).toBe(true);
});
