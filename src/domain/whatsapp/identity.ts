/**
 * The two addresses of one person: the LID (`123@lid`) and, if known, the phone number (`491701234567@s.whatsapp.net`).
 * Either may name a device (`:7`).
 */
interface Person {
  lid?: string | null;
  pn?: string | null;
}

const sameServer: Record<string, string> = { 'c.us': 's.whatsapp.net', hosted: 's.whatsapp.net', 'hosted.lid': 'lid' };

/**
 * The user's JID without device or agent, with one spelling of the server. Groups, and text that is not a JID, come
 * back unchanged.
 */
export function canonicalUser(jid: string): string {
  const at = jid.indexOf('@');
  if (at < 0) return jid;
  const server = jid.slice(at + 1).toLowerCase();
  if (server === 'g.us' || server === 'broadcast' || server === 'newsletter') return `${jid.slice(0, at)}@${server}`;
  const user = jid.slice(0, at).replace(/[:_].*$/s, '');
  return `${user}@${sameServer[server] ?? server}`;
}

export const isGroup = (jid: string): boolean => jid.endsWith('@g.us');
/** Broadcast lists and the status feed. */
export const isBroadcast = (jid: string): boolean => jid.endsWith('@broadcast');
export const isNewsletter = (jid: string): boolean => jid.endsWith('@newsletter');
export const isStatus = (jid: string): boolean => jid === 'status@broadcast';

/**
 * The digits of an international phone number as people write it: "+49 (0)170 123-4567", "0049 170 1234567",
 * "491701234567". Null for anything else, also for national numbers such as "0170 1234567": a guessed country would
 * authorise a stranger.
 */
export function phoneOf(text: string): string | null {
  // numbers copied from a contact card have invisible direction marks around them
  const written = text
    .replace(/\p{Cf}/gu, '')
    .trim()
    .replace(/@(?:s\.whatsapp\.net|c\.us)$/, '')
    .replace(/(?<=\d[\s.-]{0,3})\(0\)/, '');
  if (!/^\+?\d(?:[\s().\-/]*\d)*$/.test(written)) return null;
  const digits = written.replace(/\D/g, '').replace(/^00/, '');
  return /^[1-9]\d{6,14}$/.test(digits) ? digits : null;
}

function address(jid: string | null | undefined): string | null {
  if (!jid) return null;
  if (jid.includes('@')) {
    const user = canonicalUser(jid);
    return user.startsWith('@') ? null : user;
  }
  const phone = phoneOf(jid);
  return phone === null ? null : `${phone}@s.whatsapp.net`;
}

/**
 * LIDs decide when both are known: a number can pass to somebody else, a LID cannot. An unknown person equals nobody.
 */
export function samePerson(a: Person, b: Person): boolean {
  const [lidA, lidB, pnA, pnB] = [address(a.lid), address(b.lid), address(a.pn), address(b.pn)];
  if (lidA !== null && lidB !== null) return lidA === lidB;
  return pnA !== null && pnA === pnB;
}

/** The role of a person on a channel. The lists hold JIDs in either form, or phone numbers. */
export function roleOf(
  person: Person,
  known: { owner: readonly string[]; trusted: readonly string[] },
): 'owner' | 'trusted' | 'stranger' {
  const own = [address(person.lid), address(person.pn)].filter((jid) => jid !== null);
  const listed = (jids: readonly string[]) => jids.some((jid) => own.includes(address(jid) ?? ''));
  return listed(known.owner) ? 'owner' : listed(known.trusted) ? 'trusted' : 'stranger';
}

/**
 * The owner of the linked account's number: as configured, else as chosen at pairing, else the owner's own unless another
 * number is named as the owner's.
 */
export function numberMode(
  config: { WHATSAPP_NUMBER?: 'shared' | 'dedicated' | undefined; OWNER_PHONE_NUMBER?: string | undefined },
  chosen: 'shared' | 'dedicated' | null,
  ownJid: string,
): 'shared' | 'dedicated' {
  if (config.WHATSAPP_NUMBER) return config.WHATSAPP_NUMBER;
  if (chosen) return chosen;
  const owners = config.OWNER_PHONE_NUMBER?.split(',') ?? [];
  return owners.length === 0 || owners.includes(ownJid.split('@')[0]!.split(':')[0]!) ? 'shared' : 'dedicated';
}

/**
 * Who writes in a chat, as clients of the status API name people: a phone number as `<digits>@c.us`. Other addresses
 * stay as they are.
 */
export const userIdOf = ({ address, phone }: { address: string; phone: string | null }): string =>
  (phone ?? address).replace(/@s\.whatsapp\.net$/, '@c.us');
