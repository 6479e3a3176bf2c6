import { readMcpConfig } from '../../adapters/mcp/config-file.ts';
import type { Config } from '../../config.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { type Extension, listExtensions } from '../../store/owner/extensions.ts';
import { withStore } from '../instance/servers/with-store.ts';

interface ServerHealth {
  name: string;
  enabled: boolean;
  status: 'ok' | 'warning' | 'error';
  detail: string;
}

/** Each MCP server of the file, with what a worker has found there. Without the database only the file is known. */
export async function mcpServerHealth(config: Config): Promise<ServerHealth[]> {
  const { servers, off, problems } = await readMcpConfig(config);
  if (servers.length + off.length + problems.length === 0) return [];
  const found = await foundServers(config);
  const healths: ServerHealth[] = [
    ...servers.map(({ server: { name } }) => ({ name, enabled: true, ...healthOf(name, found) })),
    ...off.map(({ name }) => ({ name, enabled: false, status: 'ok' as const, detail: 'switched off in mcp.json' })),
    ...problems.map(({ name, problem }) => ({
      name: name || 'mcp.json',
      enabled: true,
      status: 'error' as const,
      detail: problem,
    })),
  ];
  return healths.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function healthOf(name: string, found: readonly Extension[] | null): Pick<ServerHealth, 'status' | 'detail'> {
  if (!found) return { status: 'warning', detail: 'the database does not answer, so nothing is known of it' };
  const row = found.find((each) => each.kind === 'mcp' && each.name === name);
  if (row?.problem) return { status: 'error', detail: inline(row.problem, 300) };
  if (!row?.declaration) return { status: 'warning', detail: 'not asked yet' };
  if (row.agreed) return { status: 'ok', detail: `${row.declaration.tools.length} tools in use` };
  return { status: 'warning', detail: row.agreed === null ? `waits for your yes: tools show ${name}` : 'you said no' };
}

const foundServers = (config: Config): Promise<Extension[] | null> =>
  withStore(config, 'fetch-doctor', ({ db }) => listExtensions(db)).catch(() => null);
