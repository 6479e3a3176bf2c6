/** How several lines become one message: a line that ends with `\` goes on, and `"""` opens and closes a block. */
const FENCE = '"""';

/** Whether Enter goes on in the next line instead of sending. */
export function goesOn(text: string): boolean {
  if (text.trimStart().startsWith(FENCE)) return !closed(text);
  return endsWithBackslash(text);
}

/** The text after Enter has gone on: the `\` was no part of what is said. */
export const nextLine = (text: string): string => `${!text.trimStart().startsWith(FENCE) && endsWithBackslash(text) ? text.slice(0, -1) : text}\n`;

/** What is sent: the inside of a block, and anything else as it stands. */
export function messageOf(text: string): string {
  const whole = text.trim();
  if (!whole.startsWith(FENCE) || !closed(text)) return whole;
  return whole.slice(FENCE.length, -FENCE.length).replace(/^ *\n/, '').trimEnd();
}

const closed = (text: string): boolean => {
  const whole = text.trim();
  return whole.length >= 2 * FENCE.length && whole.endsWith(FENCE);
};

/** An even number of them is text, such as the end of a Windows path that somebody doubled. */
const endsWithBackslash = (text: string): boolean => (/(?<!\\)\\{1,100}$/.exec(text)?.[0].length ?? 0) % 2 === 1;
