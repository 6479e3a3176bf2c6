import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { ping } from '../../../store/postgres/health.ts';
import type { Connections } from './role-context.ts';

const LOOK_MS = 5_000;
const CALL_MS = 4_000;

/** The health of the roles of a process. */
export type RoleState = 'starting' | 'ready' | { waits: string };

/**
 * Writes every five seconds whether the roles of this process work: `ok`, or a line for each thing that is wrong. For
 * health checks of containers, which read the file and its time (`deploy/healthy.sh`): a process that hangs writes
 * nothing. Returns a function that ends it.
 */
export function tellHealth(
  file: string,
  states: ReadonlyMap<string, RoleState>,
  connections: Pick<Connections, 'store' | 'temporal'>,
): () => void {
  let ended = false;
  const look = async () => {
    const problems = [...wrongRoles(states), ...(await wrongServers(connections))];
    if (!ended) write(file, problems.length === 0 ? 'ok' : problems.join('\n'));
  };
  const round = () => void look().catch(() => {});
  const timer = setInterval(round, LOOK_MS).unref();
  round();
  return () => {
    ended = true;
    clearInterval(timer);
    rmSync(file, { force: true });
  };
}

export const wrongRoles = (states: ReadonlyMap<string, RoleState>): string[] =>
  [...states].flatMap(([role, state]) =>
    state === 'ready' ? [] : [state === 'starting' ? `${role} is starting` : `${role} waits: ${state.waits}`],
  );

async function wrongServers({ store, temporal }: Pick<Connections, 'store' | 'temporal'>): Promise<string[]> {
  const [database, server] = await Promise.all([
    ping(store.db, CALL_MS),
    temporal
      .withDeadline(Date.now() + CALL_MS, () => temporal.workflowService.getSystemInfo({}))
      .then(
        () => null,
        (error: Error) => error.message,
      ),
  ]);
  return [
    ...(database ? [] : ['PostgreSQL does not answer']),
    ...(server === null ? [] : [`Temporal does not answer: ${server}`]),
  ];
}

/** Renamed into place: a reader never finds half of it. */
function write(file: string, text: string): void {
  writeFileSync(`${file}.new`, `${text}\n`);
  renameSync(`${file}.new`, file);
}
