import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { type Config, childEnvironment } from '../../config.ts';
import { ownCommand } from '../instance/programs.ts';

/** Names sort by time, and say it in UTC. */
export const backupName = (at: Date): string => `fetch-${at.toISOString().slice(0, 19).replaceAll(':', '')}.backup`;
const KEPT = /^fetch-\d{4}-\d\d-\d\dT\d{6}\.backup$/;
const LOOK_MS = 60_000;
/** A disk that is not there now may be there in an hour. */
const AGAIN_MS = 60 * 60_000;

type Settings = Pick<Config, 'FETCH_BACKUP_FOLDER' | 'FETCH_BACKUP_AT' | 'FETCH_BACKUP_KEEP' | 'FETCH_BACKUP_KEY' | 'FETCH_HOME' | 'FETCH_POSTGRES_PORT'>;
export interface KeptBackup {
  file: string;
  at: Date;
}

/**
 * Makes a backup each night while the instance runs. It belongs to the supervisor and is no Temporal Schedule: it must also be made when Temporal is what is broken. The
 * files are its memory, so a restart neither repeats nor forgets a night. Returns what ends it.
 */
export function keepNightly(config: Settings, log: Logger): () => void {
  const { FETCH_BACKUP_FOLDER: folder } = config;
  if (!folder) return () => {};
  const making = new AbortController();
  let busy = false;
  let notBefore = 0;
  const look = async (): Promise<void> => {
    if (busy || Date.now() < notBefore || !isDue(config, new Date())) return;
    busy = true;
    try {
      const file = await makeOne(config, folder, making.signal);
      log.info({ file }, 'the backup of this night is made');
    } catch (error) {
      if (making.signal.aborted) return;
      notBefore = Date.now() + AGAIN_MS;
      log.error({ error: (error as Error).message }, 'the backup of this night could not be made; trying again in an hour');
    } finally {
      busy = false;
    }
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  void look();
  return () => {
    clearInterval(timer);
    making.abort();
  };
}

/** In a process of its own: what a backup needs of memory goes with it. */
async function makeOne(config: Settings, folder: string, signal: AbortSignal): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const at = join(folder, backupName(new Date()));
  const { FETCH_HOME, FETCH_POSTGRES_PORT, FETCH_BACKUP_KEY } = config;
  const env = childEnvironment({ FETCH_HOME, FETCH_POSTGRES_PORT: String(FETCH_POSTGRES_PORT), ...(FETCH_BACKUP_KEY && { FETCH_BACKUP_KEY }) });
  const { file, args } = ownCommand(['backup', at], env);
  await promisify(execFile)(file, args, { env, signal });
  for (const { file: old } of keptBackups(folder).slice(config.FETCH_BACKUP_KEEP)) rmSync(old);
  return at;
}

/** Whether the newest one is from before the latest time at which one should have been made. */
export function isDue({ FETCH_BACKUP_FOLDER: folder, FETCH_BACKUP_AT: time }: Pick<Settings, 'FETCH_BACKUP_FOLDER' | 'FETCH_BACKUP_AT'>, now: Date): boolean {
  const [hours, minutes] = time.split(':').map(Number) as [number, number];
  const due = new Date(now);
  due.setHours(hours, minutes, 0, 0);
  if (due > now) due.setDate(due.getDate() - 1);
  const [newest] = keptBackups(folder!);
  return !newest || newest.at < due;
}

/** Backups of a folder, the newest first. Files with other names are left out. Empty when the folder does not exist. */
export function keptBackups(folder: string): KeptBackup[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && KEPT.test(entry.name));
  return names
    .map(({ name }) => join(folder, name))
    .map((file) => ({ file, at: statSync(file).mtime }))
    .sort((a, b) => b.at.getTime() - a.at.getTime());
}
