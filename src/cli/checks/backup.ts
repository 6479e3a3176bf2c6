import type { Config } from '../../config.ts';
import { HOUR } from '../../domain/time.ts';
import { keptBackups } from '../instance/home/kept-backups.ts';
import { isDue } from '../instance/nightly-backup.ts';
import type { Finding } from './finding.ts';

/** Nothing where no nightly backup is wanted: who copies a home in another way need not be told each time. */
export function backupFinding({ FETCH_BACKUP_FOLDER: folder, ...config }: Config, now = new Date()): Finding[] {
  if (!folder) return [];
  const finding = (state: Finding['state'], detail: string, mend: string | null): Finding[] => [
    { name: 'backup', state, version: null, detail, mend },
  ];
  if (!config.FETCH_BACKUP_KEY)
    return finding(
      'warning',
      'none can be made: FETCH_BACKUP_KEY is not set',
      'fetch config set FETCH_BACKUP_KEY, with a long passphrase',
    );
  const [newest] = keptBackups(folder);
  if (!newest)
    return finding(
      'warning',
      `there is none in ${folder} yet`,
      'fetch backup makes one now; the log of `fetch logs` says why a night failed',
    );
  const hours = Math.floor((now.getTime() - newest.at.getTime()) / HOUR);
  const detail = `the newest is ${hours} h old: ${newest.file}`;
  // a machine that has just woken up is about to make one
  const late = isDue({ ...config, FETCH_BACKUP_FOLDER: folder }, new Date(now.getTime() - HOUR));
  return late
    ? finding('warning', detail, '`fetch logs` says why the last night failed; fetch backup makes one now')
    : finding('ok', detail, null);
}
