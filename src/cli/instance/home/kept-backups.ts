import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The backups of the nights, as they lie in their folder. */
interface KeptBackup {
  file: string;
  at: Date;
}

/** Names sort by time, and say it in UTC. */
export const backupName = (at: Date): string => `fetch-${at.toISOString().slice(0, 19).replaceAll(':', '')}.backup`;
const KEPT = /^fetch-\d{4}-\d\d-\d\dT\d{6}\.backup$/;

/** Backups of a folder, the newest first. Files with other names are left out. Empty when the folder does not exist. */
export function keptBackups(folder: string): KeptBackup[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && KEPT.test(entry.name));
  return names
    .map(({ name }) => join(folder, name))
    .map((file) => ({ file, at: statSync(file).mtime }))
    .sort((a, b) => b.at.getTime() - a.at.getTime());
}
