/** An entry of the audit log. The database appends it; nothing changes it. */
export interface AuditTable {
  /** from 1 on, without a gap */
  seq: number;
  /** JSON, exactly as it was hashed */
  body: string;
  /** of the entry before it, this number and this text */
  hash: Buffer;
}

export interface AuditDatabase {
  audit_log: AuditTable;
}
