import type { Config } from '../../../config.ts';
import { isTooLong, parseShare, phoneIn, plainWords, type ShareOrder } from '../../../domain/chat/words/commands.ts';
import { membersOf } from '../../../domain/settings/shapes.ts';
import { findName } from '../../../domain/tasks/workspace-names.ts';
import { sayWhole } from '../../../domain/texts/again.ts';
import type { Say } from '../../../domain/texts/say.ts';
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
  run: async (order, { tx: { now }, config, shared, say }) => {
    // numbers of people do not belong into a group
    if (shared) return say('own.chat');
    if (order.what === 'list')
      return listText(trustedBySetting(config), await trustedPhones(now), await telegramPeople(now), say);
    if (order.what === 'invite') return await invitation(now, config, 'trusted', say);
    if (order.what === 'remove telegram')
      return (await distrustNamed(now, order.name)) > 0
        ? say('trusted.ignored', { name: order.name })
        : say('trusted.noName', { name: order.name });
    const { what, phone } = order;
    const set = trustedBySetting(config).includes(phone);
    if (what === 'remove') {
      if (set) return say('trusted.bySetting', { phone });
      return say((await distrustPhone(now, phone)) ? 'trusted.removed' : 'trusted.wasNot', { phone });
    }
    // also the way to say that the person with the number has a new account
    await releaseNumber(now, phone);
    if (membersOf(config.OWNER_PHONE_NUMBER ?? '').includes(phone)) return say('trusted.own', { phone });
    if (!set) await trustPhone(now, phone);
    return say('trusted.added', { phone });
  },
});

/** Digits of the numbers in TRUSTED_PHONE_NUMBERS. */
export const trustedBySetting = ({ TRUSTED_PHONE_NUMBERS }: Pick<Config, 'TRUSTED_PHONE_NUMBERS'>): string[] =>
  membersOf(TRUSTED_PHONE_NUMBERS ?? '');

function listText(
  set: readonly string[],
  told: readonly string[],
  telegram: readonly TelegramPerson[],
  say: Say,
): string {
  const lines = [
    ...set.map((phone) => `- +${phone} (TRUSTED_PHONE_NUMBERS)`),
    ...told.filter((phone) => !set.includes(phone)).map((phone) => `- +${phone}`),
    ...telegram.filter(({ role }) => role === 'trusted').map(({ name }) => `- ${name} (Telegram)`),
  ];
  if (lines.length === 0) return say('trusted.nobody');
  return [say('trusted.list'), ...lines].join('\n');
}

/** The way into the owner's own chat on Telegram. */
export const telegramCommand = command({
  help: ['helps.telegram'],
  parse: saying('telegram', 'pair telegram', 'connect telegram'),
  mayAnswer: true,
  ownersOnly: () => 'owner.telegram',
  run: async (_, { tx: { now }, config, shared, say }) =>
    shared ? say('own.chat') : await invitation(now, config, 'owner', say),
});

/** A link that makes whoever opens it first the owner, or a person who may write. */
async function invitation(
  tx: Tx,
  { FETCH_TELEGRAM_TOKEN }: Pick<Config, 'FETCH_TELEGRAM_TOKEN'>,
  role: TelegramPerson['role'],
  say: Say,
): Promise<string> {
  if (!FETCH_TELEGRAM_TOKEN) return say('telegram.notSetUp');
  const bot = await currentBot(tx);
  if (!bot?.username)
    return say('telegram.notConnected', {
      why: bot?.problem ? sayWhole(bot.problem, 'link.', say) : say('telegram.moment'),
    });
  const link = `https://t.me/${bot.username}?start=${await newCode(tx, role)}`;
  return say(role === 'owner' ? 'telegram.ownLink' : 'telegram.otherLink', { link, count: CODE_MINUTES });
}

export const shareCommand = command({
  topic: 'trust',
  help: ['helps.share'],
  parse: (text) => parseShare(text) ?? parseNamedShare(text),
  ownersOnly: () => 'owner.share',
  run: async (order, { tx, config, say }) => {
    if (!('name' in order)) return await share(tx.now, config, order, { say });
    const { name, ...rest } = order;
    const person = (await telegramPeople(tx.now)).find((each) => each.name.toLowerCase() === name.toLowerCase());
    // a sentence about somebody else
    return person
      ? await share(tx.now, config, { ...rest, person: telegramId(person.user_id) }, { onTelegram: person.name, say })
      : null;
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
  { onTelegram = null, say }: { onTelegram?: string | null; say: Say },
): Promise<string> {
  if (order.what === 'list') {
    const shares = await listShares(tx);
    const people = new Map((await telegramPeople(tx)).map(({ user_id, name }) => [telegramId(user_id), name]));
    return shares.length === 0
      ? say('share.none')
      : shares.map(({ workspace, person }) => `${workspace}: ${people.get(person) ?? `+${person}`}`).join('\n');
  }
  const { person } = order;
  const who = onTelegram ?? `+${person}`;
  if (order.what === 'unshare') {
    const gone = await unshareWorkspace(tx, order.workspace, person);
    return say(gone ? 'share.ended' : 'share.wasNot', { workspace: order.workspace, who });
  }
  if (onTelegram === null && !trustedBySetting(config).includes(person) && !(await trustedPhones(tx)).includes(person))
    return say('share.mayNot', { person });
  const names = [...new Set((await listWorkspaces(tx)).map(({ name }) => name))];
  const workspace = findName(order.workspace, names);
  if (workspace === null)
    return say('share.unknown', {
      name: order.workspace,
      count: names.length,
      names: names.join(', ') || say('share.noNames'),
    });
  await shareWorkspace(tx, workspace, person);
  return say('share.done', { workspace, who });
}
