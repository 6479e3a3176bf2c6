import { parseBringIn } from './bring-in.ts';
import { type ApprovalAnswer, chooseOption, isStrayNumber, isTooLong, numberIn, parseApproval } from './commands.ts';
import { parseTogether } from './race-words.ts';

/** What the meaning of a reply depends on: an open question. */
export interface Asked {
  id: string;
  /** shown with the question when several are open; never changes while it is open */
  number: number;
  kind: 'question' | 'approval' | 'plan';
  options: readonly string[];
  /** when the channel showed it; null when it was not shown yet */
  deliveredAt: Date | null;
  /** part of what must be read before a yes was not shown yet */
  unread: boolean;
  /** a no changes nothing, so it need not wait until the question can have been read */
  noAtOnce: boolean;
}

/** The meaning of a reply for the open questions. */
export type Meaning =
  | { kind: 'decides'; question: string; answer: ApprovalAnswer }
  | { kind: 'answers'; question: string; text: string }
  /** a number that no option has */
  | { kind: 'stray'; question: string }
  /** a yes to something that was shown only in part */
  | { kind: 'unread'; question: string }
  /** asks for the next page */
  | { kind: 'more'; question: string }
  /** written before the question could be read */
  | { kind: 'too early'; questions: string[] }
  /** several are open, and the reply does not say which it means */
  | { kind: 'which'; questions: string[] }
  | { kind: 'no such number'; number: number }
  /** a yes or a number that quotes another message, and so is about that one */
  | { kind: 'elsewhere'; questions: string[] }
  /** words that decide nothing while an approval waits */
  | { kind: 'unclear'; questions: string[] };

export interface Written {
  /** when the person wrote it */
  at: Date;
  /** a question must have been on the screen for this long before the reply */
  readMs: number;
  /** the reply was put on exactly this question: a quote, a reaction or a vote */
  on?: string;
  /** it quotes a message that asks none of the open questions */
  elsewhere?: boolean;
}

/**
 * What a reply means, or null when no open question could be meant. A bare word answers what was on the screen when it
 * was written, so only questions shown by then count.
 */
export function meaningOf(reply: string, open: readonly Asked[], written: Written): Meaning | null {
  const exact = open.find((question) => question.id === written.on);
  if (exact) return answer(exact, reply);
  const named = targetOf(reply, open);
  const bare = isBare(reply, open);
  const denies = isNo(named?.reply ?? reply);
  const decides = bare || isDecision(named?.reply ?? '');
  if (written.elsewhere && decides && !denies)
    return open.length > 0 ? { kind: 'elsewhere', questions: idsOf(open) } : null;
  const shown = open.filter(({ deliveredAt }) => deliveredAt !== null && deliveredAt <= written.at);
  const read = shown.filter(({ deliveredAt }) => deliveredAt!.getTime() + written.readMs <= written.at.getTime());
  const counts = (question: Asked) =>
    read.includes(question) || (denies && question.noAtOnce && shown.includes(question));
  if (named) {
    const question = open.find(({ number }) => number === named.number);
    if (!question) return { kind: 'no such number', number: named.number };
    return counts(question) ? answer(question, named.reply) : { kind: 'too early', questions: [question.id] };
  }
  if (bare) {
    if (open.length === 0) return null;
    const [only] = shown;
    if (shown.length > 1) return { kind: 'which', questions: idsOf(shown) };
    return only && counts(only)
      ? answer(only, reply)
      : { kind: 'too early', questions: idsOf(shown.length > 0 ? shown : open) };
  }
  const asking = shown.filter(({ kind }) => kind === 'question' || (kind === 'plan' && !isForModel(reply)));
  if (asking.length > 1) return { kind: 'which', questions: idsOf(asking) };
  if (asking[0]) return answer(asking[0], reply);
  return shown.length > 0 ? { kind: 'unclear', questions: idsOf(shown) } : null;
}

function answer(question: Asked, reply: string): Meaning {
  if (question.kind === 'question')
    return isStrayNumber(question.options, reply)
      ? { kind: 'stray', question: question.id }
      : { kind: 'answers', question: question.id, text: chooseOption(question.options, reply) };
  if (isMore(reply)) return { kind: 'more', question: question.id };
  const { word, unread } = withoutUnread(reply);
  const decided = parseApproval(word);
  // a number says nothing to a plan
  if (!decided && question.kind === 'plan' && numberIn(reply) === null)
    return { kind: 'answers', question: question.id, text: reply.trim() };
  if (!decided) return { kind: 'unclear', questions: [question.id] };
  if (decided.decision === 'allow' && question.unread && !unread) return { kind: 'unread', question: question.id };
  return { kind: 'decides', question: question.id, answer: decided };
}

/** `yes 2`, `2 yes`, `more 2`, `2: the blue one`: the question that the reply names, or null. */
function targetOf(reply: string, open: readonly Asked[]): { number: number; reply: string } | null {
  if (open.length === 0 || isTooLong(reply)) return null;
  const words = reply.trim().split(/\s+/);
  const [first, last] = [markOf(words[0]!), markOf(words.at(-1)!)];
  const [after, before] = [words.slice(1).join(' '), words.slice(0, -1).join(' ')];
  if (last !== null && isDecision(before)) return { number: last, reply: before };
  if (first !== null && isDecision(after)) return { number: first, reply: after };
  // other words name a question only when several are open
  const spoken =
    open.length > 1 && words[0]!.endsWith(':') && after !== '' && open.some(({ number }) => number === first);
  return spoken ? { number: first!, reply: reply.slice(reply.indexOf(':') + 1).trim() } : null;
}

/** `2`, `#2`, `2:`, `2.` */
function markOf(word: string): number | null {
  const digits = /^#?(\d{1,2})[:.)!]?$/.exec(word)?.[1];
  return digits === undefined ? null : Number(digits);
}

/**
 * What a message that is addressed to nobody answers to these questions: a no, something else that they offer, or
 * nothing. People who talk to each other say "ok", so only the words of the questions count.
 */
export function offeredAnswer(
  text: string,
  open: readonly Pick<Asked, 'kind' | 'number' | 'options'>[],
): 'no' | 'other' | null {
  const asked = open.map((question) => ({ ...question, id: '', deliveredAt: null, unread: false, noAtOnce: true }));
  const named = targetOf(text, asked);
  const reply = named?.reply ?? text;
  if (isNo(reply)) return 'no';
  if (isDecision(reply)) return OFFERED.test(reply) ? 'other' : null;
  const choices = asked.filter(({ kind, options }) => kind === 'question' && options.length > 0);
  return choices.length > 0 && isBare(text, choices) ? 'other' : null;
}

/** The words of our questions that are no refusal. */
const OFFERED = /^\s*(?:yes|y|\/?more|ja|sí|sim|oui|हाँ)(?![\p{L}\p{M}\p{N}_])/iu;

const isNo = (reply: string): boolean => parseApproval(reply)?.decision === 'deny';
const isMore = (reply: string): boolean => /^\/?more[.!]?$/i.test(reply.trim());
function withoutUnread(reply: string): { word: string; unread: boolean } {
  const words = isTooLong(reply) ? [] : reply.trim().split(/\s+/);
  const unread = words.length > 1 && /^unread[.!]?$/i.test(words.at(-1)!);
  return { word: unread ? words.slice(0, -1).join(' ') : reply, unread };
}
const isDecision = (reply: string): boolean => isMore(reply) || parseApproval(withoutUnread(reply).word) !== null;

/**
 * A word that means nothing without its question: yes, no, a number, a thumb, or an option of one of these questions.
 */
const isBare = (reply: string, open: readonly Asked[]): boolean =>
  isDecision(reply) ||
  numberIn(reply) !== null ||
  open.some(({ options }) => options.some((option) => option.trim().toLowerCase() === reply.trim().toLowerCase()));

/** Words that ask for something else, and change no plan. */
const isForModel = (reply: string): boolean =>
  /^\s{0,20}\/?plan\s{0,5}:/i.test(reply) ||
  parseBringIn(reply) !== null ||
  parseTogether(reply) !== null ||
  /^\/?(?:undo|redo)\b/i.test(reply.trim());

const idsOf = (questions: readonly Asked[]): string[] => questions.map(({ id }) => id);
