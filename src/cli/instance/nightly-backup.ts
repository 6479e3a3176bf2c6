import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { type Config, childEnvironment } from '../../config.ts';
import type { Told } from '../../domain/texts/say.ts';
import { HOUR } from '../../domain/time.ts';
import { backupName, keptBackups } from './home/kept-backups.ts';
import { ownCommand } from './supervisor/programs.ts';

const LOOK_MS = 60_000;
/** A disk that is not there now may be there in an hour. */
const AGAIN_MS = HOUR;

type Settings = Pick<
  Config,
  | 'FETCH_BACKUP_FOLDER'
  | 'FETCH_BACKUP_AT'
  | 'FETCH_BACKUP_KEEP'
  | 'FETCH_BACKUP_KEY'
  | 'FETCH_HOME'
  | 'FETCH_POSTGRES_PORT'
>;

/**
 * Makes a backup each night while the instance runs. It belongs to the supervisor and is no Temporal Schedule: it must
 * also be made when Temporal is what is broken. The files are its memory, so a restart neither repeats nor forgets a
 * night. Returns what ends it.
 */
export function keepNightly(config: Config, log: Logger): () => void {
  const making = new AbortController();
  let busy = false;
  let notBefore = 0;
  const look = async (): Promise<void> => {
    // a restart of the roles may bring another one
    const { FETCH_BACKUP_FOLDER: folder } = config;
    if (!folder || busy || Date.now() < notBefore || !isDue(config, new Date())) return;
    busy = true;
    try {
      const file = await makeOne(config, folder, making.signal);
      log.info({ file }, 'the backup of this night is made');
    } catch (error) {
      if (making.signal.aborted) return;
      notBefore = Date.now() + AGAIN_MS;
      const { stderr, message } = error as Error & { stderr?: string };
      const why = stderr?.trim().split('\n').at(-1) || message;
      log.error({ error: why }, 'the backup of this night could not be made; trying again in an hour');
      await tellOfFailure(config, folder, why).then(
        () => log.info('the owner knows of it'),
        (failure: Error) => log.warn({ error: failure.message }, 'the owner could not be told of it'),
      );
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

/** Once for all nights in a row that fail: the newest backup that there is names them. */
async function tellOfFailure(config: Config, folder: string, why: string): Promise<void> {
  const [newest] = keptBackups(folder);
  const key = `backup-after-${newest ? basename(newest.file, '.backup') : 'none'}`;
  const time = newest?.at.toISOString().slice(0, 16).replace('T', ' ');
  const text: Told = (say) =>
    `${say('backup.failed', { why: why.slice(0, 300) })}\n\n${time ? say('backup.newest', { time }) : say('backup.none')}`;
  // loaded now: a supervisor that lives for weeks needs no database else
  const [{ withStore }, { tellOwner }] = await Promise.all([
    import('./servers/with-store.ts'),
    import('../../store/whatsapp/account.ts'),
  ]);
  await withStore(config, 'fetch-backup', ({ db }) => tellOwner(db, key, text, config.OWNER_PHONE_NUMBER ?? null));
}

/** In a process of its own: what a backup needs of memory goes with it. */
async function makeOne(config: Settings, folder: string, signal: AbortSignal): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const at = join(folder, backupName(new Date()));
  const { FETCH_HOME, FETCH_POSTGRES_PORT, FETCH_BACKUP_KEY } = config;
  const env = childEnvironment({
    FETCH_HOME,
    FETCH_POSTGRES_PORT: String(FETCH_POSTGRES_PORT),
    ...(FETCH_BACKUP_KEY && { FETCH_BACKUP_KEY }),
  });
  const { file, args } = ownCommand(['backup', at], env);
  await promisify(execFile)(file, args, { env, signal });
  for (const { file: old } of keptBackups(folder).slice(config.FETCH_BACKUP_KEEP)) rmSync(old);
  return at;
}

/** Whether the newest one is from before the latest time at which one should have been made. */
export function isDue(
  { FETCH_BACKUP_FOLDER: folder, FETCH_BACKUP_AT: time }: Pick<Settings, 'FETCH_BACKUP_FOLDER' | 'FETCH_BACKUP_AT'>,
  now: Date,
): boolean {
  const [hours, minutes] = time.split(':').map(Number) as [number, number];
  const due = new Date(now);
  due.setHours(hours, minutes, 0, 0);
  if (due > now) due.setDate(due.getDate() - 1);
  const [newest] = keptBackups(folder!);
  return !newest || newest.at < due;
}
