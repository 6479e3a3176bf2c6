import { createHash } from 'node:crypto';
import type { Config } from '../../../../config.ts';
import type { Identity } from '../../../../contracts/decision.ts';
import { OLD_AFTER_MS } from '../../../../domain/chat/burst.ts';
import { type GroupRule, mayCall } from '../../../../domain/chat/groups.ts';
import { addressed } from '../../../../domain/chat/trigger.ts';
import { isTooLong } from '../../../../domain/chat/words/commands.ts';
import { offeredAnswer } from '../../../../domain/chat/words/replies.ts';
import { canonicalUser, numberMode, roleOf, samePerson } from '../../../../domain/whatsapp/identity.ts';
import { groupAt, isAnswered } from '../../../../store/chats/groups.ts';
import type { Db, Tx } from '../../../../store/postgres/database.ts';
import { tellOwner } from '../../../../store/whatsapp/account.ts';
import {
  type Forms,
  findContact,
  holdsNumber,
  ownIdentity,
  trustedPhones,
} from '../../../../store/whatsapp/contacts.ts';
import {
  authorsOfTurn,
  type OurMessage,
  openIn,
  ourMessage,
  received,
  type Waiting,
} from '../../../../store/whatsapp/inbox.ts';
import { resumeChat } from '../../../../store/whatsapp/pause.ts';
import { markAccepted } from '../../../../store/whatsapp/sends.ts';
import type { Approver } from '../../../intake/intake.ts';
import type { Sorted } from '../../shared/receiver.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { albumCalls } from './albums.ts';
import { decodeRow, type Incoming, type Me, type OfOthers } from './decode.ts';
import { bothForms, type ChatDirectory, jidsOf } from './directory.ts';

/** `member`: somebody whom the rule of a registered group lets call there. */
type Role = 'owner' | 'trusted' | 'member' | 'stranger';
/** JIDs of the people who may use it. */
interface People {
  owner: string[];
  trusted: string[];
}
/** The linked account, and how its number is used. */
export interface Self extends Me {
  number: 'shared' | 'dedicated';
  people: People;
}

/** Who is who on this account. Without OWNER_PHONE_NUMBER the account itself is the owner. */
export async function whoIsWho({
  db,
  config,
  account,
}: Pick<WhatsAppDeps, 'db' | 'config' | 'account'>): Promise<Self> {
  const [own, told] = await Promise.all([ownIdentity(db, account), trustedPhones(db)]);
  const people = peopleOf(config, own, told);
  const number = numberMode(config, own.number, own.jid ?? '');
  return { jid: own.jid && canonicalUser(own.jid), lid: own.lid && canonicalUser(own.lid), number, people };
}

/** `told`: numbers that the owner trusts besides those of the setting. */
export function peopleOf(
  config: Pick<Config, 'OWNER_PHONE_NUMBER' | 'TRUSTED_PHONE_NUMBERS'>,
  own: Me,
  told: readonly string[] = [],
): People {
  const owner = jidsOf(config.OWNER_PHONE_NUMBER);
  const itself = [own.jid, own.lid].filter((jid) => jid !== null);
  // if the account itself is the owner, its LID counts too, before any contact says so
  const named = own.jid && owner.includes(canonicalUser(own.jid)) ? [...owner, ...itself] : owner;
  return {
    owner: owner.length > 0 ? named : itself,
    trusted: [...jidsOf(config.TRUSTED_PHONE_NUMBERS), ...jidsOf(told.join(','))],
  };
}

/** The role of somebody in a registered group, as its rule says; elsewhere it is as it is. */
function roleIn(rule: GroupRule | null, role: 'owner' | 'trusted' | 'stranger', forms: Forms): Role {
  if (rule === null) return role;
  if (!mayCall(rule, { role, id: idOfPerson(forms) })) return 'stranger';
  return role === 'stranger' ? 'member' : role;
}

/** A person's id in identities: the number if known, because settings name people by number. */
export const idOfPerson = ({ pn, lid }: Forms): string | null => (pn ? pn.split('@')[0]! : lid);

/** The author's identity for the store. */
const identityOf = (role: Role, forms: Forms): Identity => {
  const id = idOfPerson(forms);
  return { role: role === 'stranger' ? 'member' : role, channel: 'whatsapp', ...(id && { id }) };
};

/** The decision about a message: it ends with a reason (`verdict`), or goes on with the text that is meant for us. */
type Verdict =
  | { admitted: true; text: string /** the text is the quoted one */; quotes?: true }
  | { admitted: false; verdict: string };

interface Circumstances {
  role: Role;
  self: Self;
  /** its id is one that we sent */
  echo: boolean;
  /** it quotes a message that we sent */
  quotesUs: boolean;
  trigger: string;
  /** of a registered group */
  rule?: GroupRule | null;
}

/** Refused only because it does not say that it is for us. */
const isUnaddressed = (verdict: Verdict): boolean =>
  !verdict.admitted && (verdict.verdict === 'not_addressed' || verdict.verdict === 'owner_typed');

const refuse = (verdict: string): Verdict => ({ admitted: false, verdict });

/**
 * Whether a message is for us, from somebody who may write to us. Pure. Reactions, votes, edits and deletions need no
 * trigger, because they name their message.
 */
export function verdictOn(
  message: Incoming,
  { role, self, echo, quotesUs, trigger, rule = null }: Circumstances,
): Verdict {
  const { content, chat, key } = message;
  if (content.kind === 'nothing' && content.why !== 'stub') return refuse(content.why);
  if (key.fromMe && echo) return refuse('echo');
  if (role === 'stranger') return refuse(key.fromMe ? 'phone_typed' : 'stranger');
  // what the owner types to others is talk between people, on either kind of number
  const toOthers = key.fromMe && chat.kind !== 'self';
  // without a text nobody knows whether it was for us, so it counts only where everything is for us
  const allForUs = chat.kind === 'self' || (chat.kind === 'direct' && self.number === 'dedicated' && !toOthers);
  if (content.kind === 'nothing') return allForUs ? { admitted: true, text: '' } : refuse('stub');
  if (content.kind === 'album' && allForUs) return { admitted: true, text: '' };
  if (content.kind === 'unreadable')
    return allForUs ? { admitted: true, text: '' } : refuse(key.fromMe ? 'owner_typed' : 'not_addressed');
  if (content.kind !== 'text' && content.kind !== 'media' && content.kind !== 'album')
    return { admitted: true, text: '' };
  const voice = content.kind === 'media' && content.media.voice;
  const { addressed: isForUs, text } = addressed({
    chat: chat.kind,
    number: toOthers ? 'shared' : self.number,
    mentionsUs: message.mentions.some((jid) => jid === self.jid || jid === self.lid),
    quotesUs,
    text: content.kind === 'album' ? '' : content.text,
    voice,
    trigger,
    rule: toOthers && rule?.when === 'always' ? { ...rule, when: 'called' } : rule,
  });
  if (!isForUs) return refuse(key.fromMe ? 'owner_typed' : 'not_addressed');
  if (text || content.kind !== 'text') return { admitted: true, text };
  // only the trigger: it is about the quoted message, or the person wants to know what this is
  return message.quoted?.text
    ? { admitted: true, text: message.quoted.text, quotes: true }
    : { admitted: true, text: 'help' };
}

/**
 * The role of a group message's author in a turn: the owner, or one of the authors who began it, under either address.
 */
const approverOf =
  (account: string, message: Incoming, owner: boolean): Approver =>
  async (tx, turnId) => ({ owner, asked: !owner && (await began(tx, account, message, turnId)) });

/** Whether the author of a message is one of those who began a turn, under either address. */
async function began(tx: Db | Tx, account: string, { author, key, chat }: Incoming, turnId: string): Promise<boolean> {
  for (const { participant, fromMe } of await authorsOfTurn(tx, account, turnId)) {
    if (fromMe || key.fromMe || chat.kind !== 'group') {
      if (fromMe === key.fromMe) return true;
      continue;
    }
    const forms = participant.endsWith('@lid') ? { lid: participant, pn: null } : { lid: null, pn: participant };
    if (samePerson((await findContact(tx, account, forms)) ?? forms, author)) return true;
  }
  return false;
}

/**
 * Whether a message without trigger, mention or quote answers a question that is open in its chat: a no of anybody who
 * may write, and each other answer of the person who was asked. In a group the owner is always asked.
 */
async function answersUnaddressed({ db, account }: WhatsAppDeps, message: Incoming, role: Role): Promise<boolean> {
  if (message.quoted || message.ofOthers) return false;
  const { chat } = message;
  const text = textOf(message);
  if (message.content.kind !== 'text' || isTooLong(text)) return false;
  const address = chat.kind === 'group' ? chat.jid : (await findContact(db, account, chat.forms))?.chatAddress;
  const open = address === undefined ? [] : await openIn(db, address);
  const answer = open.length > 0 ? offeredAnswer(text, open) : null;
  if (answer !== 'other') return answer === 'no';
  if (role === 'owner' && chat.kind === 'group') return true;
  for (const { turnId } of open) if (await began(db, account, message, turnId)) return true;
  return false;
}

const textOf = ({ content }: Incoming): string =>
  content.kind === 'text' || content.kind === 'media' ? content.text.trim() : '';

/** Says once that somebody else has the number of a person who may write. */
async function tellOfNewAccount({ db, config }: WhatsAppDeps, { lid, pn }: Forms): Promise<void> {
  const phone = pn!.split('@')[0]!;
  const who = createHash('sha256').update(`${lid} ${pn}`).digest('hex').slice(0, 20);
  await tellOwner(
    db,
    `number-${who}`,
    (say) => say('trusted.changed', { phone }),
    config.OWNER_PHONE_NUMBER?.split(',')[0] ?? null,
  );
}

/** How long an author waits whose number only WhatsApp knows, until the next attempt. */
const UNKNOWN_MS = 5_000;

/** A message for us, with what is known about it. */
export interface Admitted {
  row: Waiting;
  message: Incoming;
  self: Self;
  role: Role;
  /** the part of its text that is meant for us */
  text: string;
  /** our message that it quotes */
  quoted: OurMessage | undefined;
  /** it quotes what somebody else wrote, or what nobody can tell */
  quotesOthers: boolean;
  /** how the text of somebody else came into the message */
  ofOthers: OfOthers | null;
  address: string;
  /** the author, in a group */
  author: string | null;
  by: Identity;
  approver: Approver | undefined;
  /** for us because another part of its album is */
  inAlbum: boolean;
  old: boolean;
  /** was delayed before because it was over the limit or its author was unknown, and not after a failure */
  late: boolean;
}

/** Whether a message is for us, and from whom. */
export async function admit(
  deps: WhatsAppDeps & { live: CurrentLive },
  directory: ChatDirectory,
  row: Waiting,
  message: Incoming,
  self: Self,
): Promise<Admitted | NonNullable<Sorted>> {
  const { db, account, config } = deps;
  const { key, chat } = message;
  const forms = await bothForms(deps, message.author);
  if (!forms) return { until: Date.now() + UNKNOWN_MS };
  message.author = forms;
  const listed = roleOf(forms, self.people);
  const another = listed !== 'stranger' && !key.fromMe && !(await holdsNumber(db, account, forms));
  if (another) await tellOfNewAccount(deps, forms);
  const group = chat.kind === 'group' ? await groupAt(db, 'whatsapp', chat.jid) : undefined;
  // a registered group is not answered while its owner or the account is not in it
  if (group?.registered_at && !isAnswered(group)) return { verdict: 'paused' };
  const rule = group?.registered_at ? group.rule : null;
  const role = roleIn(rule, another ? 'stranger' : listed, forms);
  const quoted = role !== 'stranger' && message.quoted ? await ourMessage(db, account, message.quoted.id) : undefined;
  const echo = key.fromMe && (await ourMessage(db, account, key.messageId)) !== undefined;
  const circumstances = { role, self, echo, trigger: config.FETCH_TRIGGER, rule };
  const own = verdictOn(message, { ...circumstances, quotesUs: quoted !== undefined });
  const inAlbum =
    isUnaddressed(own) &&
    (await albumCalls(db, row, message, self, async (part) => {
      const quotesUs = part.quoted !== null && (await ourMessage(db, account, part.quoted.id)) !== undefined;
      return verdictOn(part, { ...circumstances, quotesUs }).admitted;
    }));
  if (typeof inAlbum === 'object') return inAlbum;
  const verdict: Verdict = inAlbum ? { admitted: true, text: textOf(message) } : own;
  // WhatsApp shows us our own message, so it has it, even if its ack was lost
  if (echo) await markAccepted(db, account, [key.messageId]);
  const answers = isUnaddressed(verdict) && (await answersUnaddressed(deps, message, role));
  if (!verdict.admitted && !answers) return { verdict: verdict.verdict };
  // who writes to us can be written to
  if (chat.kind === 'direct' && !key.fromMe) await resumeChat(db, account, [chat.jid, forms.lid, forms.pn]);
  const { address, author } = await directory.placeOf(message);
  const approver = chat.kind === 'group' ? approverOf(account, message, role === 'owner') : undefined;
  const ours = quoted !== undefined && (quoted.address === address || quoted.address === chat.jid);
  const quotesOthers = message.quoted !== null && !ours && !(await quotesOwn(deps, message, self));
  const old = Date.now() - message.at.getTime() > OLD_AFTER_MS;
  const late = !old && !inAlbum && row.notBefore !== null && row.attempts === 0;
  return {
    row,
    message,
    self,
    role,
    text: verdict.admitted ? verdict.text : textOf(message),
    quoted,
    quotesOthers,
    ofOthers: message.ofOthers ?? (verdict.admitted && verdict.quotes && quotesOthers ? 'quoted' : null),
    address,
    author,
    by: identityOf(role, forms),
    approver,
    inAlbum,
    old,
    late,
  };
}

/** Whether a message quotes what its author wrote earlier in the same chat, and not what was only forwarded there. */
async function quotesOwn(deps: WhatsAppDeps & { live: CurrentLive }, by: Incoming, self: Self): Promise<boolean> {
  for (const row of await received(deps.db, deps.account, by.quoted!.id)) {
    if (row.content === null || row.content.length === 0) continue;
    const original = await decodeRow(row, self);
    const author = (await bothForms(deps, original.author)) ?? original.author;
    const samePlace =
      by.chat.kind === 'group' ? original.chat.jid === by.chat.jid : original.chat.kind === by.chat.kind;
    if (samePlace && samePerson(author, by.author)) return original.ofOthers === null;
  }
  return false;
}
