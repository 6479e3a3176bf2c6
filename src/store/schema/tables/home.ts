import type { ColumnType } from 'kysely';
import type { Created } from '../columns.ts';

/** An entry of the audit log. The database appends it; nothing changes it. */
export interface AuditTable {
  /** from 1 on, without a gap */
  seq: number;
  /** JSON, exactly as it was hashed */
  body: string;
  /** of the entry before it, this number and this text */
  hash: Buffer;
}

/** The receipt of a turn or task that has ended. Nothing changes it; its body is erased with its chat. */
export interface ReceiptTable {
  /** from 1 on, without a gap */
  number: number;
  /** `turn/<id>` or `task/<id>` */
  subject: string;
  /** JSON, exactly as it was hashed */
  body: string | null;
  /** SHA-256 of the body, as all hashes in hex */
  digest: string;
  /** `hash` of the receipt before it; empty in the first one */
  previous: string;
  /** of number, previous hash and digest */
  hash: string;
  /** Ed25519, base64 */
  signature: string;
  /** the public key: SPKI, base64 */
  key: string;
  ended_at: Date;
}

export interface AuditDatabase {
  audit_log: AuditTable;
  receipts: ReceiptTable;
}

/** One thing that was taken over from another installation. */
interface ImportTable {
  kind: ImportKind;
  /** its id or name there */
  key: string;
  imported_at: Created;
}

export type ImportKind = 'session' | 'trusted number' | 'workflow' | 'cron' | 'folder' | 'home';

export interface ImportDatabase {
  imports: ImportTable;
}

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
