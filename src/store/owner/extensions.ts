import { createHash } from 'node:crypto';
import type { DecidedBy } from '../../contracts/decision.ts';
import { type Declaration, type ExtensionKind, nameOf } from '../../domain/extensions/extension.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';

/** What the owner brought along: what was found, and what the owner said of it. */

export interface Extension {
  kind: ExtensionKind;
  name: string;
  hash: string | null;
  problem: string | null;
  declaration: Declaration | null;
  /** null: it waits for a decision */
  agreed: boolean | null;
}

/** The same content has the same hash, in whatever order its fields were written. */
export const hashOf = (declaration: Declaration): string =>
  createHash('sha256').update(ordered(declaration)).digest('hex');

const ordered = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    each && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );

const extensions = (db: Db | Tx) =>
  db
    .selectFrom('extensions')
    .leftJoin('extension_versions', 'extension_versions.hash', 'extensions.hash')
    .select([
      'extensions.kind',
      'extensions.name',
      'extensions.hash',
      'extensions.problem',
      'extension_versions.declaration',
      'extension_versions.agreed',
    ])
    .orderBy('extensions.kind')
    .orderBy('extensions.name');

export const listExtensions = (db: Db | Tx): Promise<Extension[]> => extensions(db).execute();

export const findExtension = (db: Db | Tx, name: string): Promise<Extension | undefined> =>
  extensions(db).where('extensions.name', '=', name).limit(1).executeTakeFirst();

/**
 * Notes what was found. Returns its hash, and whether nobody has decided about this version and it was not found
 * before.
 */
export async function noteFound(db: Db, declaration: Declaration): Promise<{ hash: string; isNew: boolean }> {
  const hash = hashOf(declaration);
  const { kind } = declaration;
  const name = nameOf(declaration);
  const fresh = await db
    .insertInto('extension_versions')
    .values({ hash, kind, name, declaration: json(declaration), agreed: null, decided_at: null })
    .onConflict((c) => c.column('hash').doNothing())
    .returning('hash')
    .executeTakeFirst();
  const now = { hash, problem: null, looked_at: new Date() };
  await db
    .insertInto('extensions')
    .values({ kind, name, ...now })
    .onConflict((c) => c.columns(['kind', 'name']).doUpdateSet(now))
    .execute();
  return { hash, isNew: fresh !== undefined };
}

/** Notes why something cannot be used. `keeps`: what was found before is still what is configured, so it stays. */
export async function noteProblem(
  db: Db,
  kind: ExtensionKind,
  name: string,
  problem: string,
  keeps = false,
): Promise<void> {
  const now = { problem, looked_at: new Date(), ...(!keeps && { hash: null }) };
  await db
    .insertInto('extensions')
    .values({ kind, name, hash: null, ...now })
    .onConflict((c) => c.columns(['kind', 'name']).doUpdateSet(now))
    .execute();
}

/** Forgets what is not configured any more. What was decided about its versions stays. */
export async function forgetOthers(db: Db, kind: ExtensionKind, names: readonly string[]): Promise<void> {
  let gone = db.deleteFrom('extensions').where('kind', '=', kind);
  if (names.length > 0) gone = gone.where('name', 'not in', names);
  await gone.execute();
}

export async function decideVersion(tx: Db | Tx, hash: string, agreed: boolean, by: DecidedBy): Promise<void> {
  await tx
    .updateTable('extension_versions')
    .set({ agreed, decided_at: new Date(), decided_by: json(by) })
    .where('hash', '=', hash)
    .execute();
}

/** Whether the owner's yes to this version still holds. */
export async function isAgreed(db: Db, hash: string): Promise<boolean> {
  const row = await db.selectFrom('extension_versions').select('agreed').where('hash', '=', hash).executeTakeFirst();
  return row?.agreed === true;
}
