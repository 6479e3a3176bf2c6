const OPEN = '<internal>';
const CLOSE = '</internal>';

/**
 * The text without what its author keeps to itself. An unclosed part reaches to the end. The marks are those of
 * NanoClaw's agents.
 */
export function withoutInternal(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf(OPEN, from);
    kept.push(text.slice(from, open < 0 ? undefined : open));
    const close = open < 0 ? -1 : text.indexOf(CLOSE, open);
    if (close < 0) return kept.join('').trim();
    from = close + CLOSE.length;
  }
}
