import type { Config } from '../../../config.ts';
import { openStore } from '../../../store/postgres/database.ts';
import { dearestToday } from '../../../store/turns/steps/spending.ts';
import { databaseUrl } from '../../instance/servers/postgres.ts';

const DEAREST = 3;

const LISTS = {
  waiting: `ExecutionStatus = "Running" AND AgentPhase = "waiting"`,
  failed: `AgentPhase = "failed" OR ExecutionStatus = "Failed"`,
};

/** Lines of `fetch status` with links to the Temporal Web UI: what waits, what failed, and what spent most today. */
export async function statusLinks(config: Config, ui: string): Promise<string[]> {
  const workflows = `${ui}/namespaces/${encodeURIComponent(config.TEMPORAL_NAMESPACE)}/workflows`;
  const lists = Object.entries(LISTS).map(([name, query]) => `${name} ${workflows}?query=${encodeURIComponent(query)}`);
  return [...lists, ...(await dearest(config, workflows))];
}

async function dearest(config: Config, workflows: string): Promise<string[]> {
  const store = await openStore(
    config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? databaseUrl(config.FETCH_HOME, config.FETCH_POSTGRES_PORT),
    {
      max: 1,
      application: 'fetch-status',
      migrate: false,
    },
  ).catch(() => null);
  try {
    const rows = store ? await dearestToday(store.db, DEAREST) : [];
    return rows.map(
      (row) =>
        `dearest today ${row.unpriced > 0 ? 'at most ' : ''}$${(Number(row.micro_usd) / 1e6).toFixed(4)} ${workflows}/${encodeURIComponent(row.workflow_id)}`,
    );
  } catch {
    // its role reports that the database is away
    return [];
  } finally {
    await store?.close();
  }
}
