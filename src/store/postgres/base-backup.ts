import pg from 'pg';

const DUPLICATE_OBJECT = '42710';

/** What the caller copies, and when. */
interface BaseBackupSteps {
  /** what must be older than the copy */
  before(): Promise<void>;
  /** the data folder without its log; files may change and vanish meanwhile */
  data(): Promise<void>;
  /** the files of the log from `first` to `last`, which make the copy consistent, and `label` as `backup_label` */
  log(wal: { first: string; last: string; label: string }): Promise<void>;
}

/**
 * A physical backup of a running server, as PostgreSQL describes it. The temporary slot keeps the server from removing
 * the log that the copy needs, and a second backup from beginning. It ends with the connection, so a backup that was
 * killed leaves nothing.
 */
export async function baseBackup(url: string, steps: BaseBackupSteps): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'fetch-backup',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(`select pg_create_physical_replication_slot('fetch_backup', true, true)`).catch((error) => {
      throw error.code === DUPLICATE_OBJECT ? new Error('Another backup of this instance is being made.') : error;
    });
    await steps.before();
    await client.query(`select pg_backup_start('fetch', true)`);
    await steps.data();
    const { rows } = await client.query<{ label: string; last: string }>(
      'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(wait_for_archive => false)',
    );
    const { label, last } = rows[0]!;
    const first = /^START WAL LOCATION: .*\(file ([0-9A-F]{24})\)/m.exec(label)?.[1];
    if (!first) throw new Error('PostgreSQL did not say where its log begins.');
    await steps.log({ first, last, label });
  } finally {
    await client.end();
  }
}
