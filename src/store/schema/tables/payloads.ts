import type { ColumnType } from 'kysely';
import type { Created } from '../columns.ts';

/** A key that has encrypted payloads in Temporal. The key itself is not in the database. */
export interface PayloadKeyTable {
  id: string;
  first_used_at: Created;
  /** when a role that encrypts with it has last started */
  used_at: ColumnType<Date, Date | undefined, Date>;
}

export interface PayloadDatabase {
  payload_keys: PayloadKeyTable;
}
