import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Declaration } from '../../domain/extensions/extension.ts';
import type { Skill } from '../../domain/extensions/skill.ts';
import { ofOthers } from '../chats/shares.ts';
import { type Db, json, perDatabase } from '../postgres/database.ts';

/** Which versions of extensions a turn works with: those of its first step, whatever changes meanwhile. */

/** Whether other people than the owner write in a chat, or read what is said there. */
const isShared = (chat: RawBuilder<unknown>) => sql<boolean>`(
  exists (select from inbox where inbox.chat_id = ${chat} and ${ofOthers})
  or exists (select from chats as shared join groups on groups.channel = shared.channel and groups.address = split_part(shared.address, '/', 1)
    where shared.id = ${chat} and groups.registered_at is not null))`;

/**
 * Hashes of what the owner agreed to, in the order in which models read them; null when there is nothing. A chat in
 * which somebody else writes or reads has none, nor an isolated prompt of its schedules: they work with the owner's
 * keys.
 */
export const agreedNow = sql<string[] | null>`(
  select json_agg(extensions.hash order by extensions.kind, extensions.name)
  from extensions join extension_versions on extension_versions.hash = extensions.hash and extension_versions.agreed
  where not ${isShared(sql`threads.chat_id`)} and not exists (
    select from background_tasks as isolated join routine_runs as run on run.id = isolated.run_id
    where isolated.thread_id = threads.id and ${isShared(sql`run.chat_id`)}))`;

/** What the owner has agreed to, for a chat as it is now. */
export async function agreedInThread(
  db: Db,
  threadId: string,
): Promise<Array<{ hash: string; declaration: Declaration }>> {
  const row = await db
    .selectFrom('threads')
    .select(agreedNow.as('hashes'))
    .where('threads.id', '=', threadId)
    .executeTakeFirst();
  return row?.hashes ? await declarationsOf(db, row.hashes) : [];
}

/** Keeps what the first step of a turn was offered. Of two attempts, both get what the first one kept. */
export async function keepForTurn(db: Db, turnId: string, hashes: readonly string[]): Promise<string[]> {
  const row = await db
    .updateTable('turns')
    .set({ extensions: sql`coalesce(extensions, ${json(hashes)}::jsonb)` })
    .where('id', '=', turnId)
    .returning('extensions')
    .executeTakeFirst();
  return row?.extensions ?? [...hashes];
}

export async function extensionsOfTurn(db: Db, turnId: string): Promise<string[]> {
  const row = await db.selectFrom('turns').select('extensions').where('id', '=', turnId).executeTakeFirst();
  return row?.extensions ?? [];
}

// a version never changes
const versions = perDatabase(() => new LRUCache<string, Declaration>({ max: 200 }));

/** The declarations of these versions, in this order. */
export async function declarationsOf(
  db: Db,
  hashes: readonly string[],
): Promise<Array<{ hash: string; declaration: Declaration }>> {
  const known = versions(db);
  const missing = hashes.filter((hash) => !known.has(hash));
  if (missing.length > 0) {
    const rows = await db
      .selectFrom('extension_versions')
      .select(['hash', 'declaration'])
      .where('hash', 'in', missing)
      .execute();
    for (const { hash, declaration } of rows) known.set(hash, declaration);
  }
  return hashes.flatMap((hash) => {
    const declaration = known.get(hash);
    return declaration ? [{ hash, declaration }] : [];
  });
}

/** The skills that a turn works with, as far as the owner still agrees to them. */
export async function agreedSkillsOfTurn(db: Db, turnId: string): Promise<Array<{ hash: string; skill: Skill }>> {
  const skills = skillsIn(await declarationsOf(db, await extensionsOfTurn(db, turnId)));
  const agreed = new Set(skills.length > 0 ? await agreedHashes(db) : []);
  return skills.filter(({ hash }) => agreed.has(hash));
}

/** The skills that a task of this thread may use now. */
export const agreedSkillsInThread = async (db: Db, threadId: string): Promise<Array<{ hash: string; skill: Skill }>> =>
  skillsIn(await agreedInThread(db, threadId));

export const agreedHashes = async (db: Db): Promise<string[]> =>
  (await db.selectFrom('extension_versions').select('hash').where('agreed', '=', true).execute()).map(
    ({ hash }) => hash,
  );

export const skillsIn = (
  found: ReadonlyArray<{ hash: string; declaration: Declaration }>,
): Array<{ hash: string; skill: Skill }> =>
  found.flatMap(({ hash, declaration }) => (declaration.kind === 'skill' ? [{ hash, skill: declaration }] : []));

/** The skills among these versions. */
export const skillsAmong = async (db: Db, hashes: readonly string[]): Promise<Skill[]> =>
  hashes.length === 0 ? [] : skillsIn(await declarationsOf(db, hashes)).map(({ skill }) => skill);
