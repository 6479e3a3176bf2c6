import { ago, HOUR } from '../time.ts';

const QUIET_MS = 1_000;
const LONGEST_MS = 3_000;

/** A message older than this is summed up and asked about, not executed. */
export const OLD_AFTER_MS = 12 * HOUR;

/**
 * Whether the waiting messages are one turn now: no new one for a second, or three seconds since the first. Times in
 * ms.
 */
export function ready(rows: ReadonlyArray<{ at: number }>, now: number): boolean {
  if (rows.length === 0) return false;
  let [oldest, newest] = [Infinity, -Infinity];
  for (const { at } of rows) {
    oldest = Math.min(oldest, at);
    newest = Math.max(newest, at);
  }
  // a time far in the future means that the clock was set back; waiting for it could take hours
  return now - newest >= QUIET_MS || now - oldest >= LONGEST_MS || newest - now >= LONGEST_MS;
}

/** The part of messages that arrived together that one turn takes. */
interface BurstLimits {
  messages: number;
  characters: number;
  files: number;
}

const FILES = 20;

/**
 * Limits for the turns of one backlog, in order. Each takes more than the one before, so that a flood does not get
 * hundreds of answers. The last turns are longer than what a model is shown at once; it reads on in them. `shown`:
 * characters of a message that a request shows.
 */
export function partLimits(part: number, shown: number): BurstLimits {
  if (part < 8) return { messages: 100, characters: Math.min(20_000, shown), files: FILES };
  return part < 24
    ? { messages: 1_000, characters: Math.min(80_000, shown), files: FILES }
    : { messages: 10_000, characters: 250_000, files: FILES };
}

/**
 * How many of these messages, from the first on, are one turn: all of them, unless that is too much at once. The rest
 * becomes further turns; nothing is left out. A single message is never cut.
 */
export function firstPart(messages: ReadonlyArray<{ text: string; files: number }>, limits: BurstLimits): number {
  let [characters, files] = [0, 0];
  for (const [at, message] of messages.entries()) {
    characters += message.text.length + 1;
    files += message.files;
    if (at > 0 && (at >= limits.messages || characters > limits.characters || files > limits.files)) return at;
  }
  return messages.length;
}

/** The messages of a burst as the text of one turn. */
export const joinTexts = (texts: readonly string[]): string => texts.filter((text) => text.trim() !== '').join('\n');

/**
 * The text of the turn for messages older than OLD_AFTER_MS. What they ask for may be settled by now, so the model sums
 * it up and asks. `channel` is the channel's label.
 */
export function afterAbsence(
  messages: ReadonlyArray<{ at: Date; author: string; text: string }>,
  now: Date,
  channel: string,
): string {
  const one = messages.length === 1;
  const listed = messages.map(({ at, author, text }) => {
    const when = `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${ago(now.getTime() - at.getTime())}`;
    return `${author.replace(/\s+/g, ' ')} (${when}):\n${text.replace(/^/gm, '> ')}`;
  });
  return [
    `While ${channel} was out of reach, ${one ? 'a message' : `${messages.length} messages`} came in, more than 12 hours ago. ${one ? 'It is' : 'They are'} quoted below.`,
    `Do not carry out anything that ${one ? 'it asks' : 'they ask'} for: it may be settled by now. Sum up in a few lines what was wanted, and ask what is still to be done.`,
    '',
    joinTexts(listed),
  ].join('\n');
}
