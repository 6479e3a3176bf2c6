import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { INSIDE } from '../../../contracts/kennel.ts';
import { isPublicAddress, systemResolver } from '../../web/address-guard.ts';
import { createAdmission } from './egress/admission.ts';
import { allowList } from './egress/allow-list.ts';
import { EgressProxy } from './egress/egress-proxy.ts';
import { createRefusedHosts, createTrafficCount } from './egress/traffic.ts';
import { createSlots } from './slots.ts';
import { openSocketFolder } from './socket.ts';

/** The way out of a program that belongs to no task: the hosts of its list, and nobody is asked about another. */
interface HostGate {
  /** folder on the host, for `KennelCommand.gate` */
  folder: string;
  close(): Promise<void>;
}

const IDLE_MS = 600_000;
const silent = pino({ level: 'silent' });
const none = async () => {};

/** @throws for an entry that is no host */
export async function openHostGate(home: string, hosts: readonly string[]): Promise<HostGate> {
  const allowed = allowList(hosts);
  const folder = join(home, 'kennel', 'gates', randomUUID());
  const egress = new EgressProxy({
    allows: (address) => isPublicAddress(address),
    isMirror: () => false,
    isPlain: () => false,
    admission: createAdmission({ listed: () => allowed, store: null }),
    cache: null,
    traffic: createTrafficCount(none),
    resolve: systemResolver,
    lookups: createSlots(2),
    refused: createRefusedHosts(none),
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
  return { folder, close };
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
  'node',
  '--input-type=module',
  '-e',
  FORWARD,
  '--',
  ...argv,
];
