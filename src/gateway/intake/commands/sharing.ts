import type { Config } from '../../../config.ts';
import { parseShare, type ShareOrder } from '../../../domain/chat/words/commands.ts';
import { findName } from '../../../domain/tasks/workspace-names.ts';
import { listShares, shareWorkspace, unshareWorkspace } from '../../../store/chats/shares.ts';
import { listWorkspaces } from '../../../store/kennel/workspaces/workspaces.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { trustedPhones } from '../../../store/whatsapp/trusted.ts';
import { command } from './command.ts';
import { trustedBySetting } from './trusted.ts';

export const shareCommand = command({
  help: [
    '`share demo with +49 170 1234567` lets somebody whom you trust use a project; `unshare demo with …` takes it back, `shares` lists them',
  ],
  parse: parseShare,
  ownersOnly: () => 'Only the owner shares workspaces.',
  run: (order, { tx, config }) => share(tx.now, config, order),
});

/** Returns what the owner is told. */
async function share(tx: Tx, config: Pick<Config, 'TRUSTED_PHONE_NUMBERS'>, order: ShareOrder): Promise<string> {
  if (order.what === 'list') {
    const shares = await listShares(tx);
    return shares.length === 0
      ? 'No workspace is shared.'
      : shares.map(({ workspace, person }) => `${workspace}: +${person}`).join('\n');
  }
  const { person } = order;
  if (order.what === 'unshare') {
    const gone = await unshareWorkspace(tx, order.workspace, person);
    return gone
      ? `${order.workspace} is no longer shared with +${person}.`
      : `${order.workspace} was not shared with +${person}.`;
  }
  if (!trustedBySetting(config).includes(person) && !(await trustedPhones(tx)).includes(person))
    return `+${person} may not write to me. Say \`trust add +${person}\` first; then share again.`;
  const names = [...new Set((await listWorkspaces(tx)).map(({ name }) => name))];
  const workspace = findName(order.workspace, names);
  if (workspace === null)
    return `There is no workspace ${order.workspace}. There ${names.length === 1 ? 'is' : 'are'}: ${names.join(', ') || 'none'}.`;
  await shareWorkspace(tx, workspace, person);
  return `${workspace} is shared with +${person}: what they ask for may read and change it. "unshare ${workspace} with +${person}" takes that back.`;
}
