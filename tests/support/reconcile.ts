import { Connection } from '@temporalio/client';
import { loadConfig } from '../../src/config.ts';
import { createReconcile, type Reconciled } from '../../src/gateway/intake/reconcile/reconcile.ts';
import type { TestApp } from './app.ts';
import { clientOf } from './temporal-client.ts';

/**
 * Compares database and Temporal server now, as another gateway of this instance would. Its own looks every half
 * minute, and leaves what is younger than that.
 */
export async function reconcileNow(app: TestApp): Promise<Reconciled> {
  const connection = await Connection.connect({ address: app.temporalAddress });
  try {
    return await createReconcile({
      db: app.store.db,
      temporal: clientOf(app, connection),
      config: loadConfig(app.settings, {}),
    })(0);
  } finally {
    await connection.close();
  }
}
