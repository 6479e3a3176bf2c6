import { readFileSync, writeFileSync } from 'node:fs';
import { withTable } from './page.ts';
import { FILES, TABLES } from './tables.ts';

/** `npm run docs`: the tables of the pages, and `.env.example`, written from the source. */

const root = new URL('../../', import.meta.url);
for (const { page, name, text } of TABLES) {
  const path = new URL(page, root);
  writeFileSync(path, withTable(readFileSync(path, 'utf8'), name, await text()));
}
for (const { file, text } of FILES) writeFileSync(new URL(file, root), text());
