import { parseEgress } from '../../../domain/chat/words/commands.ts';
import { shownHost } from '../../../domain/tasks/egress.ts';
import { revokeRules } from '../../../store/kennel/egress/egress-rules.ts';
import { egressText } from '../../../store/kennel/egress/egress-text.ts';
import { workspacesOfChat } from '../../../store/kennel/workspaces/workspaces.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { command } from './command.ts';

export const egressCommand = command({
  help: [
    '`egress` lists the hosts that tasks here may reach; `egress remove example.com` takes one back. A task that wants another host asks you',
  ],
  parse: parseEgress,
  ownersOnly: ({ what }) => (what === 'remove' ? 'Only the owner takes back what tasks may reach.' : null),
  run: async (order, { tx, config }) =>
    order.what === 'remove'
      ? await remove(tx.now, tx.chatId, order)
      : (await egressText(tx.now, config, tx.chatId)).text,
});

async function remove(tx: Tx, chatId: string, at: { host: string; port: number | null }): Promise<string> {
  const gone: string[] = [];
  for (const { host, name } of await workspacesOfChat(tx, chatId))
    gone.push(...(await revokeRules(tx, host, [name], at)));
  const shown = shownHost({ host: at.host, port: at.port ?? 443 });
  if (gone.length === 0) return `There is no rule about ${shown} here. Say \`egress\` to see what there is.`;
  return `The rule about ${shown} in ${gone.join(', ')} is gone. Open connections to it end now, and the next task that wants it asks you.`;
}
