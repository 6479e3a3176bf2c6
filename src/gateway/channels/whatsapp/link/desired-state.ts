import type { Db } from '../../../../store/postgres/database.ts';
import { readAccount, type WaAccount } from '../../../../store/whatsapp/account.ts';

/**
 * What people want of the account. It is read regularly, because requests come from other processes through the row.
 */
export interface DesiredState {
  /** the row as last read; null when there is none */
  row(): WaAccount | null;
  /** aborted at the next new request; then replaced by a fresh signal */
  changed(): AbortSignal;
  /** reads the row now */
  look(): Promise<WaAccount | null>;
  stop(): void;
}

export function watchDesiredState(db: Db, account: string, pollMs: number): DesiredState {
  let row: WaAccount | null = null;
  let seen: number | null = null;
  let changed = new AbortController();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<WaAccount | null> => {
    row = await readAccount(db, account);
    const request = row?.request ?? 0;
    if (seen !== null && request !== seen) {
      const before = changed;
      changed = new AbortController();
      seen = request;
      before.abort();
    }
    seen ??= request;
    return row;
  };
  const round = async (): Promise<void> => {
    // an unreachable database is asked again; the connection lives while its lease does
    await look().catch(() => null);
    if (!stopped) timer = setTimeout(() => void round(), pollMs);
  };
  void round();
  return {
    row: () => row,
    changed: () => changed.signal,
    look,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
