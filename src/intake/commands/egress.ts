import type { Config } from '../../config.ts';
import { type EgressOrder, parseEgress } from '../../domain/chat/commands.ts';
import { membersOf } from '../../domain/setting-lists.ts';
import { shownHost } from '../../domain/tasks/egress.ts';
import { refusalsIn } from '../../store/kennel/egress.ts';
import { type EgressRule, revokeRules, rulesOfWorkspaces } from '../../store/kennel/egress-rules.ts';
import { workspacesOfChat } from '../../store/kennel/workspaces.ts';
import type { Tx } from '../../store/postgres/database.ts';
import { command } from './command.ts';

const REFUSED_SHOWN = 10;

export const egressCommand = command({
  help: ['`egress` lists the hosts that tasks here may reach; `egress remove example.com` takes one back. A task that wants another host asks you'],
  parse: parseEgress,
  ownersOnly: ({ what }) => (what === 'remove' ? 'Only the owner takes back what tasks may reach.' : null),
  run: (order, { tx, config }) => egress(tx.now, config, order, tx.chatId),
});

async function egress(tx: Tx, config: Pick<Config, 'FETCH_KENNEL_EGRESS'>, order: EgressOrder, chatId: string): Promise<string> {
  const workspaces = await workspacesOfChat(tx, chatId);
  if (order.what === 'remove') return await remove(tx, workspaces, order);
  const parts = await Promise.all(workspaces.map((workspace) => workspaceText(tx, workspace)));
  const listed = membersOf(config.FETCH_KENNEL_EGRESS);
  const everywhere = listed.length > 0 ? [`Every task may reach ${listed.join(', ')} (FETCH_KENNEL_EGRESS).`] : [];
  const none = parts.length === 0 ? ['This chat has no workspace yet. A task that wants a host asks you.'] : [];
  return [...everywhere, ...parts, ...none].join('\n\n');
}

type Workspace = Awaited<ReturnType<typeof workspacesOfChat>>[number];

async function workspaceText(tx: Tx, { host, name }: Workspace): Promise<string> {
  const rules = (await rulesOfWorkspaces(tx, host, [name])).filter(({ over }) => !over);
  const latest = rules.filter((rule, at) => rules.findIndex((one) => keyOf(one) === keyOf(rule)) === at);
  const refused = await refusalsIn(tx, host, name, REFUSED_SHOWN);
  const lines = [
    ...latest.map((rule) => `- ${rule.allowed ? 'may reach' : 'may not reach'} ${shownHost(rule)} (${scopeOf(rule)})`),
    ...refused.map((one) => `- was refused ${shownHost(one)}, ${one.refused} ${one.refused === 1 ? 'time' : 'times'}`),
  ];
  if (lines.length === 0) return `${name}: nobody was asked about a host yet.`;
  return [
    `${name}:`,
    ...lines,
    ...(latest.length > 0 ? [`"egress remove ${latest[0]!.host}" takes one back; the next task that wants it asks again.`] : []),
  ].join('\n');
}

const keyOf = ({ host, port, taskId }: EgressRule): string => `${host}:${port} ${taskId}`;

const scopeOf = ({ once, taskId }: EgressRule): string => (taskId === null ? 'this project' : once ? `task ${taskId}, for some minutes` : `task ${taskId}`);

async function remove(tx: Tx, workspaces: readonly Workspace[], at: { host: string; port: number | null }): Promise<string> {
  const gone: string[] = [];
  for (const { host, name } of workspaces) gone.push(...(await revokeRules(tx, host, [name], at)));
  const shown = shownHost({ host: at.host, port: at.port ?? 443 });
  if (gone.length === 0) return `There is no rule about ${shown} here. Say \`egress\` to see what there is.`;
  return `The rule about ${shown} in ${gone.join(', ')} is gone. Open connections to it end now, and the next task that wants it asks you.`;
}
