import { sql } from 'kysely';
import { type Db, json } from '../postgres/database.ts';

/**
 * What a call is about to do, noted before it does it, so that an attempt after a crash can tell its own finished work from what was
 * there before. It lies where the call's metadata will be: the result takes its place.
 */
export async function noteIntent(db: Db, callId: string, intent: Record<string, unknown>): Promise<void> {
  await db
    .updateTable('calls')
    // what an approval showed lies there, too
    .set({ metadata: sql<string>`coalesce(metadata, '{}'::jsonb) || ${json({ intent })}::jsonb` })
    .where('id', '=', callId)
    .where('state', '!=', 'done')
    .execute();
}

export async function intentOf(db: Db, callId: string): Promise<Record<string, unknown> | null> {
  const call = await db.selectFrom('calls').select('metadata').where('id', '=', callId).where('state', '!=', 'done').executeTakeFirst();
  return (call?.metadata?.intent as Record<string, unknown> | undefined) ?? null;
}
