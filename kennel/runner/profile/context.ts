import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
  // a runner outside of a container works where it was started
  const workspace = (settings.contained && spec.workspace) || settings.workspace;
  return {
    home: settings.home,
    workspace: spec.worktree ? join(workspace, spec.worktree) : workspace,
    model: spec.model,
    login: spec.login === true,
    dummyKey,
    modelBase: `http://127.0.0.1:${model.port}`,
    egressProxy: `http://127.0.0.1:${egress.port}`,
    mcp: { name: MCP_SERVER, url: askHuman.url, token: askHuman.token },
    servers: mcp ? (spec.mcp ?? []).map((name) => ({ name, url: `http://127.0.0.1:${mcp.port}/${name}` })) : [],
    chat: spec.chat ?? null,
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

/** Long strings without spaces, whatever the format. Paths and addresses are also in log-ins, and are no secrets. */
const secretsOf = (login: string): string[] =>
  (login.match(/[^\s"',:{}[\]\\]{20,}/g) ?? []).filter((text) => !text.startsWith('/'));

/**
 * Copies the agent's log-in, which is mounted read only, to where the agent looks for it, because agents renew it in
 * place and write beside it. A later run keeps what an earlier one renewed, unless the person has logged in again.
 * Returns what must be hidden in everything that is shown or stored.
 */
export function copyLogin(mounted: string, own: string): string[] {
  const login = readFileSync(mounted, 'utf8');
  const kept = lstatSync(own, { throwIfNoEntry: false });
  if (kept?.isFile() && kept.mtimeMs >= statSync(mounted).mtimeMs)
    return secretsOf(`${login} ${readFileSync(own, 'utf8')}`);
  mkdirSync(dirname(own), { recursive: true, mode: 0o700 });
  const part = `${own}.part`;
  rmSync(part, { recursive: true, force: true });
  writeFileSync(part, login, { mode: 0o600, flag: 'wx' });
  renameSync(part, own);
  return secretsOf(login);
}
