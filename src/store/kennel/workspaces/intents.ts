import { sql } from 'kysely';
import { type Db, json } from '../../postgres/database.ts';

/**
 * What a call is about to do, recorded before it does it, so that an attempt after a crash can tell its own work from
 * what was there before. It is stored in the call's metadata, which the result replaces.
 */
export async function noteIntent(db: Db, callId: string, intent: Record<string, unknown>): Promise<void> {
  await db
    .updateTable('calls')
    // the metadata also has what an approval showed
    .set({ metadata: sql<string>`coalesce(metadata, '{}'::jsonb) || ${json({ intent })}::jsonb` })
    .where('id', '=', callId)
    .where('state', '!=', 'done')
    .execute();
}

export async function intentOf(db: Db, callId: string): Promise<Record<string, unknown> | null> {
  const call = await db
    .selectFrom('calls')
    .select('metadata')
    .where('id', '=', callId)
    .where('state', '!=', 'done')
    .executeTakeFirst();
  return (call?.metadata?.intent as Record<string, unknown> | undefined) ?? null;
}
