import type { Identity } from '../../../contracts/decision.ts';
import { parseEgress } from '../../../domain/chat/words/commands.ts';
import { mayTrust } from '../../../domain/consent/policy.ts';
import { shownHost } from '../../../domain/tasks/egress.ts';
import { findName } from '../../../domain/tasks/workspace-names.ts';
import { suggestion } from '../../../domain/text/nearest.ts';
import { groupOfChat } from '../../../store/chats/groups.ts';
import { listShares } from '../../../store/chats/shares.ts';
import { egressOfChat, revokeRules } from '../../../store/kennel/egress-rules.ts';
import {
  activeWorkspace,
  listWorkspaces,
  selectWorkspace,
  type WorkspaceRow,
  workspacesOfChat,
} from '../../../store/kennel/workspaces/workspaces.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { command, saying } from './command.ts';

/** The workspaces, which people call projects. */

export const projects = command({
  topic: 'tasks',
  help: ['`projects` lists your projects; `project demo` makes one the active one'],
  parse: saying('projects', '/ls', 'workspaces', 'list projects', 'list workspaces', 'my projects', 'show projects'),
  mayAnswer: true,
  run: async (_, { tx, by }) => {
    const [rows, active] = await Promise.all([reachable(tx.now, tx.chatId, by), activeWorkspace(tx.now, tx.chatId)]);
    if (rows.length === 0)
      return 'There is no project yet. Say `make a workspace named demo`, or bring one in: `clone https://…`, `open /path/of/a/folder`.';
    const many = new Set(rows.map(({ host }) => host)).size > 1;
    const lines = rows.map((row) => {
      const about = [
        ...(active?.name === row.name && active.host === row.host ? ['active'] : []),
        ...(row.profile?.language ? [row.profile.language] : []),
        ...(row.profile?.git?.branch ? [`on ${row.profile.git.branch}`] : []),
        ...(many ? [`host ${row.host}`] : []),
      ];
      return `- ${row.name}${about.length > 0 ? ` (${about.join(', ')})` : ''}`;
    });
    const other = rows.find((row) => row.name !== active?.name);
    return [...lines, ...(other ? [`\`project ${other.name}\` makes it the active one.`] : [])].join('\n');
  },
});

export const project = command({
  help: [],
  parse: (text) => {
    const [, name] =
      /^(?:\/?(?:project|switch to project|use project)|\/select) ([\w-]{1,64})[.!]?$/i.exec(text.trim()) ?? [];
    return name === undefined ? null : { name, certain: text.trim().startsWith('/') };
  },
  mayAnswer: true,
  run: async ({ name, certain }, { tx, by, config }) => {
    const rows = await reachable(tx.now, tx.chatId, by);
    const names = [...new Set(rows.map((row) => row.name))];
    const found = findName(name, names);
    // "project management" is about something else
    if (found === null)
      return certain ? `There is no project ${name}.${suggestion(name, names)} Say \`projects\` to see them.` : null;
    const places = rows.filter((row) => row.name === found);
    const row = places.find(({ host }) => host === config.FETCH_KENNEL_HOST) ?? places[0]!;
    await selectWorkspace(tx.now, tx.chatId, row);
    return `${found} is the active project now${places.length > 1 ? `, on the host ${row.host}` : ''}: what you ask for is done there.`;
  },
});

/**
 * For somebody else than the owner, a project that is not shared with them does not exist; in a registered group none
 * but its folder.
 */
async function reachable(tx: Tx, chatId: string, by: Identity): Promise<WorkspaceRow[]> {
  const [rows, group] = await Promise.all([listWorkspaces(tx), groupOfChat(tx, chatId)]);
  if (mayTrust(by)) return group ? rows.filter(({ name }) => name === group.folder) : rows;
  const shared = (await listShares(tx)).filter(({ person }) => person === by.id).map(({ workspace }) => workspace);
  return rows.filter(({ name }) => name === group?.folder || shared.includes(name));
}

export const egressCommand = command({
  topic: 'trust',
  help: [
    '`egress` lists the hosts that tasks here may reach; `egress remove example.com` takes one back. A task that wants another host asks you',
  ],
  parse: parseEgress,
  ownersOnly: ({ what }) => (what === 'remove' ? 'Only the owner takes back what tasks may reach.' : null),
  run: async (order, { tx, config }) =>
    order.what === 'remove'
      ? await remove(tx.now, tx.chatId, order)
      : (await egressOfChat(tx.now, config, tx.chatId)).text,
});

async function remove(tx: Tx, chatId: string, at: { host: string; port: number | null }): Promise<string> {
  const gone: string[] = [];
  for (const { host, name } of await workspacesOfChat(tx, chatId))
    gone.push(...(await revokeRules(tx, host, [name], at)));
  const shown = shownHost({ host: at.host, port: at.port ?? 443 });
  if (gone.length === 0) return `There is no rule about ${shown} here. Say \`egress\` to see what there is.`;
  return `The rule about ${shown} in ${gone.join(', ')} is gone. Open connections to it end now, and the next task that wants it asks you.`;
}
