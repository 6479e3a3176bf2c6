import type { Db, Tx } from '../postgres/database.ts';

/**
 * Messages with an uploaded file, until all messages of their outbox row are made. If the process dies in between, the
 * next one uses them.
 */

/** proto.Message bytes by what makes the file the same at another attempt. */
export async function uploadsOf(db: Db, outboxId: string): Promise<Map<string, Buffer>> {
  const rows = await db
    .selectFrom('wa_uploads')
    .select(['file', 'content'])
    .where('outbox_id', '=', outboxId)
    .execute();
  return new Map(rows.map((row) => [row.file, row.content]));
}

/** The first one counts. */
export async function keepUpload(db: Db, outboxId: string, file: string, content: Buffer): Promise<void> {
  await db
    .insertInto('wa_uploads')
    .values({ outbox_id: outboxId, file, content })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function dropUploads(tx: Tx, outboxId: string): Promise<void> {
  await tx.deleteFrom('wa_uploads').where('outbox_id', '=', outboxId).execute();
}
