import type { Created } from '../columns.ts';

/** One thing that was taken over from another installation. */
interface ImportTable {
  kind: ImportKind;
  /** its id or name there */
  key: string;
  imported_at: Created;
}

export type ImportKind = 'session' | 'trusted number' | 'workflow' | 'cron' | 'home';

export interface ImportDatabase {
  imports: ImportTable;
}
