import type { Db } from './database.ts';

/** The row first: by it a schedule that is gone is made again as it should be. */
export async function setCronEnabled(db: Db, id: string, enabled: boolean): Promise<void> {
  await db.updateTable('crons').set({ enabled }).where('id', '=', id).execute();
}
