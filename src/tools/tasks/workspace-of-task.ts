import type { AgentName } from '../../contracts/kennel.ts';
import { findName } from '../../domain/tasks/workspace-names.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { type KennelHost, listHosts } from '../../store/kennel/hosts.ts';
import { activeWorkspace, listWorkspaces } from '../../store/kennel/workspaces/workspaces.ts';
import type { ToolContext } from '../tool.ts';
import { type Absence, hostsMayBeStarting } from '../workspace/await-engine.ts';

/** A workspace, and what its host can do. */
interface ReadyWorkspace {
  host: string;
  workspace: string;
  harnesses: Array<{ name: AgentName; ready: boolean; why: string | null }>;
}

/** The workspace that is meant, on a host that can start a task there. */
export async function workspaceOfTask(
  { db, chatId, turnId }: ToolContext,
  wanted: string | undefined,
): Promise<ReadyWorkspace | Absence> {
  const [chosen, every, hosts, reach] = await Promise.all([
    activeWorkspace(db, chatId),
    listWorkspaces(db),
    listHosts(db),
    reachOf(db, { chatId, turnId }),
  ]);
  const within = (name: string) => reach === null || reach.has(name);
  const active = chosen && within(chosen.name) ? chosen : null;
  const all = every.filter(({ name }) => within(name));
  const names = [...new Set(all.map((workspace) => workspace.name))];
  const name =
    wanted === undefined ? (active?.name ?? (names.length === 1 ? names[0]! : null)) : findName(wanted, names);
  if (name === null) return unnamed(wanted, names, hosts);
  const rows = all.filter((workspace) => workspace.name === name);
  const row =
    rows.find((workspace) => workspace.host === active?.host) ??
    rows.find((each) => hosts.some((host) => host.host === each.host && host.alive)) ??
    rows[0];
  if (!row) return { problem: `The workspace "${name}" is gone.`, expected: false };
  const host = hosts.find((each) => each.host === row.host);
  if (!host?.alive)
    return {
      problem: `The machine that has workspace "${name}" (${row.host}) is not connected now. Start it, or choose another workspace.`,
      expected: host?.expected || hostsMayBeStarting(),
    };
  if (!host.ready) return lackOf([host]);
  return { host: row.host, workspace: name, harnesses: host.harnesses };
}

/** Why no workspace is meant. */
function unnamed(wanted: string | undefined, names: string[], hosts: readonly KennelHost[]): Absence {
  // a workspace cannot be made without containers, and a host that is just starting has not listed its workspaces yet
  if (!hosts.some((host) => host.alive && host.ready)) return lackOf(hosts);
  if (wanted !== undefined)
    return { problem: `There is no workspace "${wanted}".${suggestion(wanted, names)}`, expected: false };
  return {
    expected: false,
    problem:
      names.length === 0
        ? 'There is no workspace yet: make one with workspace_create.'
        : `Which workspace? There are ${names.join(', ')}; select one with workspace_select.`,
  };
}

/** Why none of these hosts can start a container. */
function lackOf(hosts: readonly KennelHost[]): Absence {
  const host = hosts.find((each) => each.alive) ?? hosts[0];
  if (!host?.alive)
    return {
      problem:
        'Coding tasks need containers, and no machine that runs them is connected now: see fetch status and fetch doctor.',
      expected: host?.expected || hostsMayBeStarting(),
    };
  return {
    problem: `Coding tasks need containers, and there are none on ${host.host}: ${host.problem ?? 'no engine answers'}`,
    expected: host.expected,
  };
}
