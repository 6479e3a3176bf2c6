import type { Config } from '../../config.ts';
import { listText } from '../../gateway/intake/commands/extensions.ts';
import { listExtensions } from '../../store/owner/extensions.ts';
import { openStore } from '../../store/postgres/database.ts';
import { databaseUrl } from '../instance/servers/postgres.ts';

/**
 * `fetch tools`: what the owner brought along, as a running instance has found it. The chat is where it is shown whole
 * and agreed to.
 */
export async function run(
  { DATABASE_DIRECT_URL, DATABASE_URL, FETCH_HOME, FETCH_POSTGRES_PORT }: Config,
  options: { json?: boolean },
): Promise<void> {
  const url = DATABASE_DIRECT_URL ?? DATABASE_URL ?? databaseUrl(FETCH_HOME, FETCH_POSTGRES_PORT);
  const store = await openStore(url, { max: 1, application: 'fetch-tools', migrate: false }).catch(() => null);
  if (!store) {
    process.exitCode = 3;
    // standard output of --json is for programs
    process.stderr.write('The database does not answer. Start Fetch first: fetch up\n');
    return;
  }
  try {
    const found = await listExtensions(store.db);
    const facts = found.map(({ kind, name, agreed, problem }) => ({ kind, name, agreed, problem }));
    process.stdout.write(`${options.json ? JSON.stringify(facts, null, 2) : listText(found)}\n`);
  } finally {
    await store.close();
  }
}
