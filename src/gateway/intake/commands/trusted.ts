import type { Config } from '../../../config.ts';
import { isTooLong, phoneIn, plainWords } from '../../../domain/chat/words/commands.ts';
import { membersOf } from '../../../domain/settings/shapes.ts';
import { releaseNumber } from '../../../store/whatsapp/contacts.ts';
import { distrustPhone, trustedPhones, trustPhone } from '../../../store/whatsapp/trusted.ts';
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
