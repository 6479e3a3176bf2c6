import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { INSIDE } from '../../../contracts/kennel.ts';
import { isPublicAddress, systemResolver } from '../../web/address-guard.ts';
import { createAdmission } from './egress/admission.ts';
import { allowList, type Target } from './egress/allow-list.ts';
import { EgressProxy, type EgressProxyDeps } from './egress/egress-proxy.ts';
import { createRefusedHosts, createTrafficCount } from './egress/traffic.ts';
import { createSlots } from './slots.ts';
import { openSocketFolder } from './socket.ts';

/** The way out of a program that belongs to no task: the hosts of its list, and nobody is asked about another. */
export interface HostGate {
  /** folder on the host, for `KennelCommand.gate` */
  folder: string;
  /** hosts that were refused so far */
  refused(): Target[];
  close(): Promise<void>;
}

/** What a way out may reach besides public addresses, and what is kept of it. */
type Reach = Pick<EgressProxyDeps, 'allows' | 'isMirror' | 'isPlain' | 'cache' | 'resolve' | 'lookups'>;

const IDLE_MS = 600_000;
const MOST_REFUSED = 20;
const silent = pino({ level: 'silent' });
const none = async () => {};

const PUBLIC: Omit<Reach, 'lookups'> = {
  allows: (address) => isPublicAddress(address),
  isMirror: () => false,
  isPlain: () => false,
  cache: null,
  resolve: systemResolver,
};

/** @throws for an entry that is no host */
export async function openHostGate(home: string, hosts: readonly string[], reach?: Reach): Promise<HostGate> {
  const allowed = allowList(hosts);
  const folder = join(home, 'kennel', 'gates', randomUUID());
  const refused = new Map<string, Target>();
  const counted = createRefusedHosts(none);
  const egress = new EgressProxy({
    ...(reach ?? { ...PUBLIC, lookups: createSlots(2) }),
    admission: createAdmission({ listed: () => allowed, store: null }),
    traffic: createTrafficCount(none),
    refused: {
      ...counted,
      count(target) {
        if (refused.size < MOST_REFUSED) refused.set(`${target.host}:${target.port}`, target);
        return counted.count(target);
      },
    },
    idleMs: IDLE_MS,
    log: silent,
  });
  const sockets = openSocketFolder(folder);
  const close = async () => {
    const cut = egress.cut();
    await new Promise<void>((done) => {
      egress.server.close(() => done());
      egress.server.closeAllConnections();
    });
    await cut;
    sockets.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await sockets.listen(egress.server, 'egress.sock');
  } catch (error) {
    await close();
    throw error;
  }
  egress.server.on('error', () => {});
  return { folder, refused: () => [...refused.values()], close };
}

const FORWARD = `
  const { forwardSocket } = await import('/opt/fetch/kennel/runner/watch/socket-forwarder.ts');
  const { spawn } = await import('node:child_process');
  const { port } = await forwardSocket(${INSIDE.egressPort}, '${INSIDE.egressSocket}');
  const proxy = 'http://127.0.0.1:' + port;
  const env = { ...process.env, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy, NO_PROXY: 'localhost,127.0.0.1', no_proxy: 'localhost,127.0.0.1', NODE_USE_ENV_PROXY: '1' };
  const [command, ...args] = process.argv.slice(1);
  const child = spawn(command, args, { stdio: 'inherit', env });
  child.on('error', (error) => { console.error(error.message); process.exit(127); });
  child.on('exit', (code) => process.exit(code ?? 1));`;

/** The same command with a proxy in its container that leads to the gate. */
export const throughGate = (argv: readonly string[]): string[] => [
  // the Node of a repository may be an old one
  'sh',
  '-c',
  'exec "$(command -v /opt/fetch/bin/node || command -v node)" "$@"',
  'gate',
  '--input-type=module',
  '-e',
  FORWARD,
  '--',
  ...argv,
];
