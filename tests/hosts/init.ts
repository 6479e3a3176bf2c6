import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { RoleMessage } from '../../src/cli/instance/supervisor/role-process.ts';

/**
 * The first process of a host. It keeps the roles running, as a service manager does, and tells over IPC which of them
 * serve. The kernel ends everything of the host with it.
 */

const AGAIN_MS = 500;
const [entry, log, ...roles] = process.argv.slice(2) as [string, string, ...string[]];
writeFileSync('/proc/sys/kernel/hostname', process.env.FETCH_KENNEL_HOST ?? hostname());

const serving = new Set<string>();
const tell = (): void => void process.send?.({ serving: [...serving] });
let stopping = false;
const children = new Map<string, ChildProcess>();

function start(role: string): void {
  const child = spawn(process.execPath, [entry, role], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  children.set(role, child);
  for (const stream of [child.stdout, child.stderr])
    stream!.on('data', (text: Buffer) => appendFileSync(log, `${role} ${text.toString()}`));
  child.on('message', (message: RoleMessage) => {
    if (message.type !== 'ready') return;
    serving.add(role);
    tell();
  });
  child.once('exit', (code, signal) => {
    appendFileSync(log, `${role} ended: ${code ?? signal}\n`);
    serving.delete(role);
    children.delete(role);
    tell();
    if (stopping) return void (children.size === 0 && process.exit(0));
    setTimeout(() => start(role), AGAIN_MS);
  });
}

for (const role of roles) start(role);
// the process that made the host is gone
process.on('disconnect', () => process.exit(1));
process.on('SIGTERM', () => {
  stopping = true;
  for (const child of children.values()) child.kill('SIGTERM');
  if (children.size === 0) process.exit(0);
});
