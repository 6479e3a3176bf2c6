import { ago } from './age.ts';

const QUIET_MS = 1_000;
const LONGEST_MS = 3_000;

/** A message older than this is summed up and asked about, not executed. */
export const OLD_AFTER_MS = 12 * 3_600_000;

/** Whether the messages that wait are one turn now: nothing for a second, or three seconds since the first. Times in ms. */
export function ready(rows: ReadonlyArray<{ at: number }>, now: number): boolean {
  if (rows.length === 0) return false;
  let [oldest, newest] = [Infinity, -Infinity];
  for (const { at } of rows) {
    oldest = Math.min(oldest, at);
    newest = Math.max(newest, at);
  }
  // a time far ahead means that the clock was set back: waiting for it to catch up could take hours
  return now - newest >= QUIET_MS || now - oldest >= LONGEST_MS || newest - now >= LONGEST_MS;
}

export interface BurstLimits {
  messages: number;
  characters: number;
}

const usual: BurstLimits = { messages: 50, characters: 20_000 };

/** The messages of a burst as the text of one turn. A flood is cut, and says by how much; a single message is always whole. */
export function joinTexts(texts: readonly string[], limits: BurstLimits = usual): string {
  const said = texts.filter((text) => text.trim() !== '');
  if (said.length <= 1) return said[0] ?? '';
  const kept: string[] = [];
  let room = limits.characters;
  let cut = 0;
  for (const text of said.slice(0, limits.messages)) {
    if (room <= 0) break;
    const part = text.length <= room ? text : prefix(text, room);
    cut = text.length - part.length;
    room -= text.length;
    kept.push(part);
  }
  const left = said.length - kept.length;
  const notes = [
    ...(cut > 0 ? [`${cut} characters of the last message above`] : []),
    ...(left > 0 ? [left === 1 ? '1 more message' : `${left} more messages`] : []),
  ];
  return [...kept, ...(notes.length > 0 ? [`(Left out here, because it was too much at once: ${notes.join(', and ')}.)`] : [])].join('\n');
}

/** The first characters, without half of a surrogate pair. */
function prefix(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** The text of the turn for messages that are older than OLD_AFTER_MS: what they want is summed up and asked about, because it may be settled by now. */
export function afterAbsence(messages: ReadonlyArray<{ at: Date; author: string; text: string }>, now: Date): string {
  const one = messages.length === 1;
  const listed = messages.map(({ at, author, text }) => {
    const when = `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${ago(now.getTime() - at.getTime())}`;
    return `${author.replace(/\s+/g, ' ')} (${when}):\n${text.replace(/^/gm, '> ')}`;
  });
  return [
    `While WhatsApp was out of reach, ${one ? 'a message' : `${messages.length} messages`} came in, more than 12 hours ago. ${one ? 'It is' : 'They are'} quoted below.`,
    `Do not carry out anything that ${one ? 'it asks' : 'they ask'} for: it may be settled by now. Sum up in a few lines what was wanted, and ask what is still to be done.`,
    '',
    joinTexts(listed),
  ].join('\n');
}
