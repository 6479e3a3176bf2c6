import { inline } from '../text/foreign-text.ts';
import { english, type Say } from '../texts/say.ts';

/** What the owner has said about a group: when it is answered, who may call, and what calls may do. */
export interface GroupRule {
  /**
   * `called`: the trigger, a mention, or a reply to one of our messages. `mentioned`: the same without the trigger.
   * `always`: every message. `called` when unset
   */
  when?: 'called' | 'mentioned' | 'always';
  /** the word that calls here, besides FETCH_TRIGGER */
  trigger?: string;
  /** besides the owner: people whom the owner trusts, every member, or these by their ids. `trusted` when unset */
  who?: 'trusted' | 'everyone' | string[];
  /** families of tools besides the core; all when unset */
  families?: string[];
  /** US dollars that the chat may spend in a day; as the settings say when unset */
  dayUsd?: number;
}

/** What stands in the folder of a group for whoever works there. */
export interface GroupNotes {
  file: 'AGENTS.md' | 'CLAUDE.md';
  /** its beginning */
  text: string;
  /** SHA-256 of all of it, hex */
  digest: string;
}

/** Most messages, and days, between two answers that the next one reads. */
export const TALK_MESSAGES = 50;
export const TALK_DAYS = 7;
/** Characters of one of them. */
export const TALK_CHARS = 2_000;

/** Somebody who writes in a group. */
interface GroupWriter {
  role: 'owner' | 'trusted' | 'stranger';
  /** as in identities; null when it is not known */
  id: string | null;
}

/** Whether somebody may call in a registered group. */
export function mayCall({ who = 'trusted' }: GroupRule, { role, id }: GroupWriter): boolean {
  if (role === 'owner' || who === 'everyone') return true;
  return who === 'trusted' ? role === 'trusted' : id !== null && who.includes(id);
}

/** The rule in words: `when somebody calls me with @fetch, mentions me or replies to me`. */
export function whenInWords({ when = 'called', trigger }: GroupRule, usual: string, say: Say = english): string {
  if (when === 'always') return say('groups.every');
  const words = [usual, ...(trigger === undefined ? [] : [inline(trigger, 60)])].filter(Boolean);
  const either = new Intl.ListFormat(say.locale, { type: 'disjunction' });
  return when === 'mentioned' ? say('groups.mentioned') : say('groups.called', { words: either.format(words) });
}

/** Who may call, in words. `people`: names of the listed ones. */
export function whoInWords({ who = 'trusted' }: GroupRule, people: readonly string[] = [], say: Say = english): string {
  if (who === 'everyone') return say('groups.everyone');
  return who === 'trusted' ? say('groups.trusted') : [say('groups.you'), ...people].join(', ');
}

/** A name for the folder of a group, from its own name, that no other one has (`taken`, lower case). */
export function folderFor(name: string, taken: ReadonlySet<string>): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+|(?<![-_])[-_]+$/g, '')
    .toLowerCase()
    .slice(0, 40);
  const base = plain.length > 1 ? plain : 'group';
  for (let nth = 1; ; nth++) {
    const folder = nth === 1 ? base : `${base}-${nth}`;
    if (!taken.has(folder)) return folder;
  }
}

/** What a person says to have a group answered, or no longer: the name, and what about it. */
interface GroupOrder {
  group: string;
  answer: 'called' | 'mentioned' | 'always' | 'off';
  callers?: 'everyone' | 'trusted';
}

/**
 * `answer in Family`, `answer everything in Family for everyone`, `stop answering in Family`; null for every other
 * message. Only a name that a group has makes it an order.
 */
export function parseGroupOrder(text: string): GroupOrder | null {
  if (text.length > 200) return null;
  const said = text.trim().replace(/(?<![.!])[.!]+$/, '');
  const [, off] = /^\/?(?:stop answering|do not answer|don['’]t answer) in (\S.{0,99})$/i.exec(said) ?? [];
  if (off !== undefined) return { group: unquoted(off), answer: 'off' };
  const [, what = '', rest] = /^\/?answer (everything |mentions )?in (\S.{0,120})$/i.exec(said) ?? [];
  if (rest === undefined) return null;
  const [, name = rest, who] = /^(.+?) (?:for|to) (everyone|everybody|all members|trusted people)$/i.exec(rest) ?? [];
  const word = what.trim().toLowerCase();
  return {
    group: unquoted(name),
    answer: word === 'everything' ? 'always' : word === 'mentions' ? 'mentioned' : 'called',
    ...(who !== undefined && { callers: /^trusted/i.test(who) ? ('trusted' as const) : ('everyone' as const) }),
  };
}

const unquoted = (name: string): string => name.trim().replace(/^["“'](.*)["”']$/, '$1');
