import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { clusterFolder } from '../../src/cli/instance/servers/postgres.ts';
import type { TestApp } from '../support/app.ts';

const CLOCK_TICK_MS = 10;

export interface Usage {
  /** proportional set size in MB: shared pages counted by share, so that the sum over processes is honest */
  pssMb: number;
  cpuMs: number;
}

/** What each role uses, its child processes counted in; and the supervisor. Linux only. */
export function usageByRole(app: TestApp): Record<string, Usage> {
  const parents = parentsOfAll();
  const roots = new Map<number, string>();
  // several roles may share a process
  for (const { name, pid } of app.state().roles)
    if (pid !== null) roots.set(pid, roots.has(pid) ? `${roots.get(pid)}, ${name}` : name);
  const found: Record<string, Usage> = {};
  for (const pid of parents.keys()) {
    const name = pid === app.supervisor().pid ? 'supervisor' : ownerOf(pid, parents, roots);
    const usage = name && usageOf(pid);
    if (!usage) continue;
    found[name] ??= { pssMb: 0, cpuMs: 0 };
    found[name].pssMb += usage.pssMb;
    found[name].cpuMs += usage.cpuMs;
  }
  return found;
}

export const total = (usage: Record<string, Usage>, field: keyof Usage): number =>
  Object.values(usage).reduce((sum, each) => sum + each[field], 0);

function parentsOfAll(): Map<number, number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statFields(Number(name));
    if (fields) parents.set(Number(name), Number(fields[1]));
  }
  return parents;
}

function ownerOf(pid: number, parents: Map<number, number>, roots: Map<number, string>): string | undefined {
  for (let at: number | undefined = pid; at; at = parents.get(at)) if (roots.has(at)) return roots.get(at);
  return undefined;
}

function usageOf(pid: number): Usage | undefined {
  try {
    const kb = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1];
    const fields = statFields(pid);
    return (
      fields && { pssMb: Number(kb ?? 0) / 1024, cpuMs: (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS }
    );
  } catch {
    // it ended meanwhile
    return undefined;
  }
}

/** CPU time of one process so far, without its children. */
export const cpuMsOf = (pid: number): number => usageOf(pid)?.cpuMs ?? 0;

/** Fields of `/proc/<pid>/stat` after the name, which may itself hold spaces: state, parent, ... */
function statFields(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Disk of an instance, in MB: what grows with use (the database, the Temporal server's, the logs), and the write-ahead
 * logs of both, which are written over when they are full. For root the cluster lies outside the home.
 */
export function diskOf(home: string): { database: number; temporal: number; logs: number; writeAhead: number } {
  const cluster = clusterFolder(home)!;
  const wal = diskMb(join(cluster, 'pg_wal'));
  const servers = readdirSync(home).filter((name) => name.startsWith('temporal-'));
  const size = (name: string): number => statSync(join(home, name)).blocks * 512;
  const main = servers.filter((name) => name.endsWith('.sqlite'));
  const sum = (names: string[]): number => names.reduce((all, name) => all + size(name), 0) / 2 ** 20;
  return {
    database: diskMb(cluster) - wal,
    temporal: sum(main),
    logs: diskMb(join(home, 'logs')),
    writeAhead: wal + sum(servers.filter((name) => !main.includes(name))),
  };
}

/** Allocated bytes below a folder, in MB; files that vanish meanwhile count as nothing. */
function diskMb(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    try {
      bytes += statSync(join(entry.parentPath, entry.name)).blocks * 512;
    } catch {
      // gone
    }
  }
  return bytes / 2 ** 20;
}
