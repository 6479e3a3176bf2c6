const yes = ['👍', '✅', '✔', '☑', '👌', '🆗', '🙆'];
const no = ['👎', '❌', '✖', '❎', '🚫', '⛔', '🛑', '🙅'];
const meaning = new Map<string, 'yes' | 'no'>([
  ...yes.map((e) => [e, 'yes'] as const),
  ...no.map((e) => [e, 'no'] as const),
]);

/**
 * What an emoji on a question answers. Skin tone, presentation and gender do not count. Everything else is null, also
 * hearts and laughter: an approval must not follow from a mood.
 */
export function reactionAnswer(emoji: string): 'yes' | 'no' | null {
  // variation selectors, skin tones, and the joined female or male sign
  const plain = emoji.trim().replace(/[\ufe0e\ufe0f]|[\u{1f3fb}-\u{1f3ff}]|\u200d[\u2640\u2642]/gu, '');
  return meaning.get(plain) ?? null;
}

const BEGINS = {
  yes: /^(?:yes|ja|sí|sim|oui|हाँ|हां)(?![\p{L}\p{M}\p{N}_])/iu,
  no: /^(?:no|nein|não|non|नहीं)(?![\p{L}\p{M}\p{N}_])/iu,
};

/**
 * The option that a yes or no means: "yes, delete it" if it is the only one that begins so. Otherwise null: a thumb
 * does not answer a choice of colours.
 */
export function optionOf(answer: 'yes' | 'no', options: readonly string[]): string | null {
  const meant = options.filter((option) => BEGINS[answer].test(option.trim()));
  return meant.length === 1 ? meant[0]! : null;
}

/**
 * What an emoji answers to a question with these options, or null: a number in a keycap, or a yes or no that fits one
 * option.
 */
export function reactionText(emoji: string, options: readonly string[]): string | null {
  const digit = /^([1-9])\ufe0f?\u20e3$/.exec(emoji)?.[1] ?? (emoji === '🔟' ? '10' : undefined);
  if (digit !== undefined) return options[Number(digit) - 1] ?? null;
  const answer = reactionAnswer(emoji);
  return answer === null || options.length === 0 ? answer : optionOf(answer, options);
}
