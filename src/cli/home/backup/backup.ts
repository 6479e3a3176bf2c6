import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../../../config.ts';
import { appendAudit } from '../../../store/home/audit-log.ts';
import { backupName } from '../../instance/home/kept-backups.ts';
import { withStore } from '../../instance/servers/with-store.ts';
import { pack } from './archive.ts';
import { STAGED, stage } from './stage.ts';

/** `fetch backup`: one encrypted file with all that a running instance has stored. */
export async function run(
  config: Config,
  named: string | undefined,
  { workspaces = false }: { workspaces?: boolean },
): Promise<void> {
  if (config.DATABASE_URL || config.TEMPORAL_ADDRESS)
    throw new Error('fetch backup copies the embedded servers. With servers of your own: docs/server.md, "Backup".');
  const secret = requireKey(config);
  const file = resolve(named ?? backupName(new Date()));
  await withStore(config, 'fetch-backup', async ({ db }) => {
    const folder = mkdtempSync(join(config.FETCH_HOME, STAGED));
    try {
      await stage(config, folder, { workspaces });
      const bytes = await pack(secret, folder, file);
      await appendAudit(db, 'backed up', { role: 'terminal' }, { bytes, workspaces });
      process.stdout.write(
        `${file}: ${(bytes / 1e6).toFixed(1)} MB. Only FETCH_BACKUP_KEY opens it: keep that key somewhere else, too.\n`,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

export function requireKey({ FETCH_BACKUP_KEY }: Config): string {
  if (FETCH_BACKUP_KEY) return FETCH_BACKUP_KEY;
  throw new Error(
    'Set FETCH_BACKUP_KEY to a long passphrase, or FETCH_BACKUP_KEY_FILE to a file that has one: a backup has every key of this home.',
  );
}
