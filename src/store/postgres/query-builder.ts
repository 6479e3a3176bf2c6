import { DummyDriver, Kysely } from 'kysely';
import type { Database } from '../schema/schema.ts';
import { postgresOver } from './driver.ts';

class NoConnection extends DummyDriver {
  override acquireConnection(): Promise<never> {
    throw new Error('the query builder has no connection: it reads nothing and sends nothing');
  }
}

/** Builds and compiles statements that are sent later, on the connection of a transaction. */
export const queryBuilder = new Kysely<Database>({ dialect: postgresOver(new NoConnection()) });
