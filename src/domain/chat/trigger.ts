import type { GroupRule } from './groups.ts';
import { looksLikeAnswer, parseCommand } from './words/commands.ts';

/**
 * What decides whether a message is for us. `mentionsUs`: our JID is among the mentioned ones. `quotesUs`: the quoted
 * message is one that *we* sent, not one that the owner typed on the same number. `text`: what was written, or the
 * transcript of a voice note if there is one.
 */
export interface Addressing {
  chat: 'self' | 'direct' | 'group';
  number: 'shared' | 'dedicated';
  mentionsUs: boolean;
  quotesUs: boolean;
  text: string;
  voice: boolean;
  /** `@fetch`, for example; empty turns it off. */
  trigger: string;
  /** of a registered group */
  rule?: GroupRule | null;
}

/**
 * Whether a message is for us, and its text without the trigger word or the mention at its beginning.
 *
 * On a shared number people talk to the owner: a mention means the owner, so only the trigger or a quote of our message
 * calls us. The trigger is checked before a voice note is transcribed, so a voice note counts only where text needs no
 * trigger or where it quotes us.
 */
export function addressed(a: Addressing): { addressed: boolean; text: string } {
  const afterMention = a.mentionsUs ? withoutLeadingMention(a.text) : a.text;
  const afterTrigger = afterCall(afterMention, a.trigger, a.rule);
  const open = a.chat === 'self' || (a.chat === 'direct' && a.number === 'dedicated') || a.rule?.when === 'always';
  const mentioned = a.mentionsUs && a.number === 'dedicated';
  const triggered = !a.voice && afterTrigger !== null;
  const isAddressed = open || a.quotesUs || mentioned || triggered;
  return { addressed: isAddressed, text: isAddressed ? (afterTrigger ?? afterMention).trim() : a.text };
}

/** The text after a word that calls, as a group's own rule has it; null when it begins with none. */
export const afterCall = (text: string, trigger: string, rule?: GroupRule | null): string | null =>
  rule?.when === 'mentioned'
    ? null
    : (withoutTrigger(text, trigger) ?? (rule?.trigger === undefined ? null : withoutTrigger(text, rule.trigger)));

// WhatsApp and keyboards put invisible direction marks around names
const blank = '[\\s\\p{Cf}]*';

/** The text after the trigger, or null when the text does not begin with the trigger as a whole word. */
export function withoutTrigger(text: string, trigger: string): string | null {
  const word = trigger.trim();
  if (word === '') return null;
  // phones write an accent as one character or as two
  const words = word.normalize().split(/\s+/).map(RegExp.escape).join(`[\\s\\p{Cf}]+`);
  // "@fetcher", "@fetch-bot" and "@fetch.com" are other words; "@fetch, ..." and "@fetch: ..." are ours. A phone adds
  // U+FE0F to an emoji
  const start = new RegExp(
    `^${blank}${words}\\ufe0f?(?![\\p{L}\\p{N}\\p{M}_]|[-.'’@][\\p{L}\\p{N}])${blank}[,:;]?`,
    'iu',
  );
  const whole = text.normalize();
  const found = start.exec(whole);
  return found === null ? null : whole.slice(found[0].length);
}

/** What is wrong with a trigger that would never match, or would take away a command or an answer; null if nothing. */
export function triggerProblem(trigger: string): string | null {
  // joiners and tags are parts of emoji
  const invisible = /(?!\u200c|\u200d|[\u{e0020}-\u{e007f}])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
  if (trigger.length > 60 || invisible.test(trigger) || !/[\p{L}\p{N}\p{P}\p{S}]/u.test(trigger))
    return 'must be a visible word such as @fetch, of at most 60 characters';
  return looksLikeAnswer(trigger) || parseCommand(trigger) || /^\d+$/.test(trigger)
    ? `must not be "${trigger}", which is an answer or a command itself; take a word such as @fetch`
    : null;
}

/** A mention is written `@<digits>`. When there are several, nothing tells which is ours, and the text stays whole. */
function withoutLeadingMention(text: string): string {
  if ((text.match(/@\d{5,20}(?!\d)/g) ?? []).length !== 1) return text;
  return text.replace(new RegExp(`^${blank}@\\d{5,20}(?!\\d)${blank}[,:;]?`, 'u'), '');
}
