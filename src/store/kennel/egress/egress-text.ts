import { membersOf } from '../../../domain/settings/shapes.ts';
import { isTool, shownHost } from '../../../domain/tasks/egress.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { workspacesOfChat } from '../workspaces/workspaces.ts';
import { refusalsIn } from './egress.ts';
import { type EgressRule, rulesOfWorkspaces } from './egress-rules.ts';

const REFUSED_SHOWN = 10;

/**
 * Which hosts the tasks of a chat may reach. `named`: programs of its projects chose the names of some of these hosts.
 */
export async function egressText(
  db: Db | Tx,
  { FETCH_KENNEL_EGRESS }: { FETCH_KENNEL_EGRESS: string },
  chatId: string,
): Promise<{ text: string; named: boolean }> {
  const workspaces = await workspacesOfChat(db, chatId);
  const parts = await Promise.all(workspaces.map((workspace) => workspaceText(db, workspace)));
  const listed = membersOf(FETCH_KENNEL_EGRESS);
  const everywhere = listed.length > 0 ? [`Every task may reach ${listed.join(', ')} (FETCH_KENNEL_EGRESS).`] : [];
  const none = parts.length === 0 ? ['This chat has no workspace yet. A task that wants a host asks you.'] : [];
  return {
    text: [...everywhere, ...parts.map(({ text }) => text), ...none].join('\n\n'),
    named: parts.some(({ named }) => named),
  };
}

async function workspaceText(
  db: Db | Tx,
  { host, name }: { host: string; name: string },
): Promise<{ text: string; named: boolean }> {
  const rules = (await rulesOfWorkspaces(db, host, [name])).filter(({ over }) => !over);
  const latest = rules.filter((rule, at) => rules.findIndex((one) => keyOf(one) === keyOf(rule)) === at);
  const refused = await refusalsIn(db, host, name, REFUSED_SHOWN);
  const lines = [
    ...latest.map(
      (rule) =>
        `- ${rule.allowed ? `may ${isTool(rule) ? 'use' : 'reach'}` : `may not ${isTool(rule) ? 'use' : 'reach'}`} ${shownHost(rule)} (${scopeOf(rule)})`,
    ),
    ...refused.map((one) => `- was refused ${shownHost(one)}, ${one.refused} ${one.refused === 1 ? 'time' : 'times'}`),
  ];
  if (lines.length === 0) return { text: `${name}: nobody was asked about a host yet.`, named: false };
  const removal =
    latest.length > 0
      ? [
          `"egress remove ${isTool(latest[0]!) ? shownHost(latest[0]!) : latest[0]!.host}" takes one back; the next task that wants it asks again.`,
        ]
      : [];
  return { text: [`${name}:`, ...lines, ...removal].join('\n'), named: true };
}

const keyOf = ({ host, port, taskId }: EgressRule): string => `${host}:${port} ${taskId}`;

const scopeOf = ({ once, taskId }: EgressRule): string =>
  taskId === null ? 'this project' : once ? `task ${taskId}, for some minutes` : `task ${taskId}`;
