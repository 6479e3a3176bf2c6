import { join } from 'node:path';
import { INSIDE, TOKEN } from '../../src/contracts/kennel.ts';

/** Paths and ports of a runner. */
export interface Settings {
  run: string;
  home: string;
  workspace: string;
  spec: string;
  log: string;
  commands: string;
  modelSocket: string;
  egressSocket: string;
  mcpSocket: string;
  login: string;
  setupSocket: string;
  /** 0 takes a free port */
  modelPort: number;
  egressPort: number;
  /** token of this container; undefined outside a container */
  token: string | undefined;
  /** this run is in a container, which holds nothing else */
  contained: boolean;
  /** environment variables that the agent may see */
  env: Record<string, string>;
}

/** Environment variables that only the runner may see. */
const OWN = ['FETCH_RUN_FOLDER', TOKEN, 'NODE_OPTIONS', 'NODE_CHANNEL_FD', 'NODE_UNIQUE_ID'];

/**
 * Inside a container everything is where the contract says. `FETCH_RUN_FOLDER` moves the run folder, makes the current
 * directory the workspace, and uses free ports: so a runner can be tried on a host, beside others.
 */
export function settings(): Settings {
  // biome-ignore lint/style/noProcessEnv: the one place inside the container that reads it; src/config.ts is not there
  const all = process.env;
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) if (value !== undefined && !OWN.includes(name)) env[name] = value;
  const moved = all.FETCH_RUN_FOLDER;
  const at = (path: string) => (moved ? join(moved, path.slice(INSIDE.run.length)) : path);
  return {
    run: moved ?? INSIDE.run,
    home: at(INSIDE.home),
    workspace: moved ? process.cwd() : INSIDE.workspace,
    spec: at(INSIDE.spec),
    log: at(INSIDE.log),
    commands: at(INSIDE.commands),
    modelSocket: at(INSIDE.modelSocket),
    egressSocket: at(INSIDE.egressSocket),
    mcpSocket: at(INSIDE.mcpSocket),
    login: moved ? join(moved, 'login') : INSIDE.login,
    setupSocket: moved ? join(moved, 'setup.sock') : INSIDE.setupSocket,
    modelPort: moved ? 0 : INSIDE.modelPort,
    egressPort: moved ? 0 : INSIDE.egressPort,
    token: all[TOKEN],
    contained: !moved && all[TOKEN] !== undefined,
    env,
  };
}
