import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { clusterFolder } from '../../src/cli/instance/servers/postgres.ts';
import type { TestApp } from '../support/app.ts';

const CLOCK_TICK_MS = 10;

export interface Usage {
  /** resident memory in MB: `filesMb` and what no file holds */
  memoryMb: number;
  /** pages of programs and libraries, which a machine drops when it needs the room */
  filesMb: number;
  cpuMs: number;
}

interface ProcessUsage {
  /** memory that no file holds; processes of one family share parts of it, each of which has its part */
  ownMb: number;
  /** resident pages of each file, MB */
  files: Map<string, number>;
  cpuMs: number;
}

/**
 * What each role uses, its child processes counted in; and the supervisor. Linux only. Each file counts once in an
 * instance, shared out among the processes that have it. The kernel's own figure (PSS) also shares it out among other
 * programs of the machine, so that an instance seems smaller beside other Node processes.
 */
export function usageByRole(app: TestApp): Record<string, Usage> {
  const parents = parentsOfAll();
  const roots = new Map<number, string>();
  // several roles may share a process
  for (const { name, pid } of app.state().roles)
    if (pid !== null) roots.set(pid, roots.has(pid) ? `${roots.get(pid)}, ${name}` : name);
  const processes: Array<{ name: string; usage: ProcessUsage }> = [];
  for (const pid of parents.keys()) {
    const name = pid === app.supervisor().pid ? 'supervisor' : ownerOf(pid, parents, roots);
    const usage = name && usageOf(pid);
    if (name && usage) processes.push({ name, usage });
  }
  const resident = new Map<string, { sum: number; most: number }>();
  for (const { usage } of processes)
    for (const [file, mb] of usage.files) {
      const { sum, most } = resident.get(file) ?? { sum: 0, most: 0 };
      resident.set(file, { sum: sum + mb, most: Math.max(most, mb) });
    }
  const found: Record<string, Usage> = {};
  for (const { name, usage } of processes) {
    found[name] ??= { memoryMb: 0, filesMb: 0, cpuMs: 0 };
    const role = found[name];
    const shares = [...usage.files].map(([file, mb]) => (mb * resident.get(file)!.most) / resident.get(file)!.sum);
    const filesMb = shares.reduce((sum, mb) => sum + mb, 0);
    role.filesMb += filesMb;
    role.memoryMb += usage.ownMb + filesMb;
    role.cpuMs += usage.cpuMs;
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

function usageOf(pid: number): ProcessUsage | undefined {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const fields = statFields(pid);
    return (
      fields && {
        ownMb: mbOf('Pss_Anon', rollup) + mbOf('Pss_Shmem', rollup),
        files: filesOf(readFileSync(`/proc/${pid}/smaps`, 'utf8')),
        cpuMs: cpuOf(fields),
      }
    );
  } catch {
    // it ended meanwhile
    return undefined;
  }
}

/** Each mapping is a line of addresses, rights, offset, device, inode and path, and then lines of figures. */
function filesOf(smaps: string): Map<string, number> {
  const files = new Map<string, number>();
  for (const mapping of smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)) {
    const path = /^(?:\S+\s+){5}(\/.*)$/m.exec(mapping.slice(0, mapping.indexOf('\n')))?.[1];
    // shared memory of a family of processes has such a path, too
    if (path === undefined || path.startsWith('/dev/')) continue;
    const mb = mbOf('Rss', mapping) - mbOf('Anonymous', mapping);
    if (mb > 0) files.set(path, (files.get(path) ?? 0) + mb);
  }
  return files;
}

const mbOf = (name: string, smaps: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(smaps)?.[1] ?? 0) / 1024;

const cpuOf = (fields: string[]): number => (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;

/** CPU time of one process so far, without its children. */
export function cpuMsOf(pid: number): number {
  const fields = statFields(pid);
  return fields ? cpuOf(fields) : 0;
}

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
