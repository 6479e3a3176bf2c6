import type { Config } from '../../../config.ts';
import { isTooLong, parseShare, phoneIn, plainWords, type ShareOrder } from '../../../domain/chat/words/commands.ts';
import { membersOf } from '../../../domain/settings/shapes.ts';
import { findName } from '../../../domain/tasks/workspace-names.ts';
import { listShares, shareWorkspace, unshareWorkspace } from '../../../store/chats/shares.ts';
import { listWorkspaces } from '../../../store/kennel/workspaces/workspaces.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import {
  CODE_MINUTES,
  currentBot,
  distrustNamed,
  newCode,
  type TelegramPerson,
  telegramId,
  telegramPeople,
} from '../../../store/telegram/bots.ts';
import { distrustPhone, releaseNumber, trustedPhones, trustPhone } from '../../../store/whatsapp/contacts.ts';
import { command, saying } from './command.ts';

/** Who may write on WhatsApp and Telegram besides the owner. */

type TrustOrder =
  | { what: 'add' | 'remove'; phone: string }
  | { what: 'list' }
  /** a link for somebody on Telegram, or the end of it for somebody of that name */
  | { what: 'invite' }
  | { what: 'remove telegram'; name: string };

function parseTrust(text: string): TrustOrder | null {
  if (isTooLong(text)) return null;
  if (['trust', 'trust list', 'trust ls'].includes(plainWords(text))) return { what: 'list' };
  if (['trust add telegram', 'trust telegram'].includes(plainWords(text))) return { what: 'invite' };
  const named = /^\/?trust (?:remove|rm) telegram (\S.{0,59})$/i.exec(text.trim())?.[1];
  if (named !== undefined) return { what: 'remove telegram', name: named };
  const [, what, number] = /^\/?trust (add|remove|rm) (\+?[\d ()./-]{7,30})$/i.exec(text.trim()) ?? [];
  const phone = number === undefined ? null : phoneIn(number);
  return phone === null ? null : { what: what!.toLowerCase() === 'add' ? 'add' : 'remove', phone };
}

export const trustedCommand = command({
  topic: 'trust',
  help: ['helps.trust', 'helps.trustTelegram'],
  parse: parseTrust,
  mayAnswer: true,
  ownersOnly: () => 'owner.trusted',
  run: async (order, { tx: { now }, config, shared }) => {
    // numbers of people do not belong into a group
    if (shared) return 'Say that in our own chat, and not in a group.';
    if (order.what === 'list')
      return listText(trustedBySetting(config), await trustedPhones(now), await telegramPeople(now));
    if (order.what === 'invite') return await invitation(now, config, 'trusted');
    if (order.what === 'remove telegram')
      return (await distrustNamed(now, order.name)) > 0
        ? `What ${order.name} writes on Telegram is ignored from now on.`
        : `Nobody on Telegram whom you trust is called ${order.name}.`;
    const { what, phone } = order;
    const set = trustedBySetting(config).includes(phone);
    if (what === 'remove') {
      if (set) return `+${phone} is trusted in the settings of the machine that I run on. Take the number out there.`;
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

function listText(set: readonly string[], told: readonly string[], telegram: readonly TelegramPerson[]): string {
  const lines = [
    ...set.map((phone) => `- +${phone} (TRUSTED_PHONE_NUMBERS)`),
    ...told.filter((phone) => !set.includes(phone)).map((phone) => `- +${phone}`),
    ...telegram.filter(({ role }) => role === 'trusted').map(({ name }) => `- ${name} (Telegram)`),
  ];
  if (lines.length === 0) return 'Only you may write to me. `trust add +49 170 1234567` lets somebody else.';
  return ['You, and:', ...lines].join('\n');
}

/** The way into the owner's own chat on Telegram. */
export const telegramCommand = command({
  help: ['helps.telegram'],
  parse: saying('telegram', 'pair telegram', 'connect telegram'),
  mayAnswer: true,
  ownersOnly: () => 'owner.telegram',
  run: async (_, { tx: { now }, config, shared }) =>
    shared ? 'Say that in our own chat, and not in a group.' : await invitation(now, config, 'owner'),
});

/** A link that makes whoever opens it first the owner, or a person who may write. */
async function invitation(
  tx: Tx,
  { FETCH_TELEGRAM_TOKEN }: Pick<Config, 'FETCH_TELEGRAM_TOKEN'>,
  role: TelegramPerson['role'],
): Promise<string> {
  if (!FETCH_TELEGRAM_TOKEN)
    return 'Telegram is not set up. Write to @BotFather on Telegram, say /newbot, put the token in on my page, under Settings, and start me again.';
  const bot = await currentBot(tx);
  if (!bot?.username) return `Telegram is not connected yet. ${bot?.problem ?? 'Try again in a moment.'}`;
  const link = `https://t.me/${bot.username}?start=${await newCode(tx, role)}`;
  const whose = role === 'owner' ? 'Open this on your phone' : 'Send this to the person whom you trust';
  return `${whose}, and press Start:\n${link}\nIt works once, within ${CODE_MINUTES} minutes. Whoever opens it first ${role === 'owner' ? 'is taken for you' : 'may write to me'}.`;
}

export const shareCommand = command({
  topic: 'trust',
  help: ['helps.share'],
  parse: (text) => parseShare(text) ?? parseNamedShare(text),
  ownersOnly: () => 'owner.share',
  run: async (order, { tx, config }) => {
    if (!('name' in order)) return await share(tx.now, config, order);
    const { name, ...rest } = order;
    const person = (await telegramPeople(tx.now)).find((each) => each.name.toLowerCase() === name.toLowerCase());
    // a sentence about somebody else
    return person ? await share(tx.now, config, { ...rest, person: telegramId(person.user_id) }, person.name) : null;
  },
});

/** The same for somebody on Telegram, who has a name and no number. */
function parseNamedShare(text: string): { what: 'share' | 'unshare'; workspace: string; name: string } | null {
  if (isTooLong(text)) return null;
  const [, word, workspace, name] =
    /^\/?(share|unshare) ([\w.-]{1,64}) (?:with|from) (\p{L}.{0,59})$/iu.exec(text.trim()) ?? [];
  return word && workspace && name
    ? { what: word.toLowerCase() as 'share' | 'unshare', workspace, name: name.replace(/[.!]$/, '') }
    : null;
}

/** Returns what the owner is told. */
async function share(
  tx: Tx,
  config: Pick<Config, 'TRUSTED_PHONE_NUMBERS'>,
  order: ShareOrder,
  onTelegram: string | null = null,
): Promise<string> {
  if (order.what === 'list') {
    const shares = await listShares(tx);
    const people = new Map((await telegramPeople(tx)).map(({ user_id, name }) => [telegramId(user_id), name]));
    return shares.length === 0
      ? 'No workspace is shared.'
      : shares.map(({ workspace, person }) => `${workspace}: ${people.get(person) ?? `+${person}`}`).join('\n');
  }
  const { person } = order;
  const who = onTelegram ?? `+${person}`;
  if (order.what === 'unshare') {
    const gone = await unshareWorkspace(tx, order.workspace, person);
    return gone
      ? `${order.workspace} is no longer shared with ${who}.`
      : `${order.workspace} was not shared with ${who}.`;
  }
  if (onTelegram === null && !trustedBySetting(config).includes(person) && !(await trustedPhones(tx)).includes(person))
    return `+${person} may not write to me. Say \`trust add +${person}\` first; then share again.`;
  const names = [...new Set((await listWorkspaces(tx)).map(({ name }) => name))];
  const workspace = findName(order.workspace, names);
  if (workspace === null)
    return `There is no workspace ${order.workspace}. There ${names.length === 1 ? 'is' : 'are'}: ${names.join(', ') || 'none'}.`;
  await shareWorkspace(tx, workspace, person);
  return `${workspace} is shared with ${who}: what they ask for may read and change it. "unshare ${workspace} with ${who}" takes that back.`;
}
