import type { Config } from '../../../config.ts';
import { isTooLong, parseShare, phoneIn, plainWords, type ShareOrder } from '../../../domain/chat/words/commands.ts';
import { membersOf } from '../../../domain/settings/shapes.ts';
import { findName } from '../../../domain/tasks/workspace-names.ts';
import { listShares, shareWorkspace, unshareWorkspace } from '../../../store/chats/shares.ts';
import { listWorkspaces } from '../../../store/kennel/workspaces/workspaces.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { distrustPhone, releaseNumber, trustedPhones, trustPhone } from '../../../store/whatsapp/contacts.ts';
import { command } from './command.ts';

/** Who may write on WhatsApp besides the owner. */

type TrustOrder = { what: 'add' | 'remove'; phone: string } | { what: 'list' };

function parseTrust(text: string): TrustOrder | null {
  if (isTooLong(text)) return null;
  if (['trust', 'trust list', 'trust ls'].includes(plainWords(text))) return { what: 'list' };
  const [, what, number] = /^\/?trust (add|remove|rm) (\+?[\d ()./-]{7,30})$/i.exec(text.trim()) ?? [];
  const phone = number === undefined ? null : phoneIn(number);
  return phone === null ? null : { what: what!.toLowerCase() === 'add' ? 'add' : 'remove', phone };
}

export const trustedCommand = command({
  topic: 'trust',
  help: [
    '`trust add +49 170 1234567` lets somebody write to me on WhatsApp, `trust remove …` takes that back, `trust list` says who may',
  ],
  parse: parseTrust,
  mayAnswer: true,
  ownersOnly: () => 'Only the owner says who may write to me.',
  run: async (order, { tx: { now }, config, shared }) => {
    // numbers of people do not belong into a group
    if (shared) return 'Say that in our own chat, and not in a group.';
    if (order.what === 'list') return listText(trustedBySetting(config), await trustedPhones(now));
    const { what, phone } = order;
    const set = trustedBySetting(config).includes(phone);
    if (what === 'remove') {
      if (set)
        return `+${phone} is trusted by TRUSTED_PHONE_NUMBERS. Take the number out there, and start Fetch again.`;
      return (await distrustPhone(now, phone))
        ? `What +${phone} writes is ignored from now on.`
        : `+${phone} was not trusted.`;
    }
    // also the way to say that the person with the number has a new account
    await releaseNumber(now, phone);
    if (membersOf(config.OWNER_PHONE_NUMBER ?? '').includes(phone))
      return `+${phone} is your own number. Who writes from it next is taken for you.`;
    if (!set) await trustPhone(now, phone);
    return `+${phone} may write to me on WhatsApp, and reaches only the projects that you share: \`share demo with +${phone}\`.`;
  },
});

/** Digits of the numbers in TRUSTED_PHONE_NUMBERS. */
export const trustedBySetting = ({ TRUSTED_PHONE_NUMBERS }: Pick<Config, 'TRUSTED_PHONE_NUMBERS'>): string[] =>
  membersOf(TRUSTED_PHONE_NUMBERS ?? '');

function listText(set: readonly string[], told: readonly string[]): string {
  const lines = [
    ...set.map((phone) => `- +${phone} (TRUSTED_PHONE_NUMBERS)`),
    ...told.filter((phone) => !set.includes(phone)).map((phone) => `- +${phone}`),
  ];
  if (lines.length === 0)
    return 'Only you may write to me on WhatsApp. `trust add +49 170 1234567` lets somebody else.';
  return ['You, and:', ...lines].join('\n');
}

export const shareCommand = command({
  topic: 'trust',
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
