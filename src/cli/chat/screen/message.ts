/** How several lines become one message: `\` at the end of a line continues it, and `"""` begins and ends a block. */
const FENCE = '"""';

/** Whether Enter begins a new line and does not send. */
export function goesOn(text: string): boolean {
  if (text.trimStart().startsWith(FENCE)) return !closed(text);
  return endsWithBackslash(text);
}

/** The text after Enter began a new line, without the `\`. */
export const nextLine = (text: string): string =>
  `${!text.trimStart().startsWith(FENCE) && endsWithBackslash(text) ? text.slice(0, -1) : text}\n`;

/** What is sent: the inside of a block, or the text as it is. */
export function messageOf(text: string): string {
  const whole = text.trim();
  if (!whole.startsWith(FENCE) || !closed(text)) return whole;
  return whole.slice(FENCE.length, -FENCE.length).replace(/^ *\n/, '').trimEnd();
}

const closed = (text: string): boolean => {
  const whole = text.trim();
  return whole.length >= 2 * FENCE.length && whole.endsWith(FENCE);
};

/** An even number of backslashes is text, such as the doubled end of a Windows path. */
const endsWithBackslash = (text: string): boolean => (/(?<!\\)\\{1,100}$/.exec(text)?.[0].length ?? 0) % 2 === 1;
