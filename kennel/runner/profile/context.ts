import { join } from 'node:path';
import type { RunSpec } from '../../../src/contracts/kennel.ts';
import { MCP_SERVER } from '../questions/ask-human.ts';
import type { Settings } from '../settings.ts';
import type { ProfileContext } from './profile.ts';

/** What the agent connects to, all on loopback. */
export interface Endpoints {
  model: { port: number };
  egress: { port: number };
  /** null when the run has no MCP servers of the owner */
  mcp: { port: number } | null;
  askHuman: { url: string; token: string };
}

/** What the profile of an agent may know of this run. */
export function profileContext(
  spec: RunSpec,
  settings: Settings,
  { model, egress, mcp, askHuman }: Endpoints,
  dummyKey: string,
): ProfileContext {
  return {
    home: settings.home,
    workspace: spec.worktree ? join(settings.workspace, spec.worktree) : settings.workspace,
    model: spec.model,
    login: spec.login === true,
    dummyKey,
    modelBase: `http://127.0.0.1:${model.port}`,
    egressProxy: `http://127.0.0.1:${egress.port}`,
    mcp: { name: MCP_SERVER, url: askHuman.url, token: askHuman.token },
    servers: mcp ? (spec.mcp ?? []).map((name) => ({ name, url: `http://127.0.0.1:${mcp.port}/${name}` })) : [],
    permissions: spec.permissions,
    resuming: spec.sessionId !== null,
    root: process.getuid?.() === 0,
    env: settings.env,
  };
}

/** The container's environment, with the proxy for everything that is not on loopback. */
export function baseEnvironment({ env, egressProxy }: ProfileContext): Record<string, string> {
  const none = '127.0.0.1,localhost,::1';
  return {
    ...env,
    HTTP_PROXY: egressProxy,
    HTTPS_PROXY: egressProxy,
    http_proxy: egressProxy,
    https_proxy: egressProxy,
    NO_PROXY: none,
    no_proxy: none,
  };
}
