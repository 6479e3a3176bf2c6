const LONGEST = 200_000;
const DENSEST = 3_000;
/** Fifty quotes or lists in each other, written in one line or as the last step of a stair. */
const NESTED = /^[ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+){50}|^[ \t>]{100,}(?:[-+*]|\d{1,9}[.)])[ \t]/m;

/**
 * Whether markdown is parsed at all. The parser's time grows with the square of the delimiters in a paragraph and of the nesting (5,000 lists in
 * each other: 20 s), and a process that keeps a connection alive cannot wait for that.
 */
export function isParseable(markdown: string): boolean {
  if (markdown.length > LONGEST || NESTED.test(markdown)) return false;
  return markdown.length <= DENSEST || markdown.split(/\n\s*\n/).every((paragraph) => (paragraph.match(/[*_~[\]]/g) ?? []).length <= DENSEST);
}
