import type { ServerFacts } from '../../../store/home/operations.ts';
import type { Finding } from '../finding.ts';

/** Above this share of its connections a server soon refuses one. */
const MANY = 0.8;

export function connectionFinding({ bytes, connections, maxConnections }: ServerFacts): Finding {
  const detail = `${connections} of ${maxConnections} connections in use, our database has ${Math.ceil(bytes / 1e6)} MB`;
  const many = connections >= maxConnections * MANY;
  return {
    name: 'database',
    state: many ? 'warning' : 'ok',
    version: null,
    detail,
    mend: many ? 'raise max_connections of PostgreSQL, or run fewer roles' : null,
  };
}

export function schemaFinding({ missing, newer }: { missing: string[]; newer: string[] }): Finding {
  const name = 'schema';
  if (missing.length > 0 && newer.length > 0)
    return {
      name,
      state: 'missing',
      version: null,
      detail: `belongs to a newer release (${newer.at(-1)})`,
      mend: 'install the newer release again',
    };
  if (missing.length > 0)
    return {
      name,
      state: 'missing',
      version: null,
      detail: `${missing.length} changes of the tables are missing (${missing.at(-1)})`,
      mend: 'fetch prepare',
    };
  if (newer.length > 0)
    return {
      name,
      state: 'warning',
      version: null,
      detail: `a newer release has changed the tables (${newer.at(-1)}); this one can use them`,
      mend: 'run the same release everywhere',
    };
  return { name, state: 'ok', version: null, detail: 'the tables are those of this release', mend: null };
}
