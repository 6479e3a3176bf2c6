import type { RepositoryMap } from '../../../contracts/workspace-ops.ts';

/** Characters of all lines. */
const LONGEST = 2_000;

/** `src/main.ts: start, stop`, of plain letters alone. */
const LINE = /^[\w.@/+-]{1,120}(?:: [\w$]{1,60}(?:, [\w$]{1,60}){0,40})?(?:, …)?$/;

/**
 * The map of a repository, as the model reads it. Its names were written by others. Each is one plain word, but many
 * words in a row can be a sentence. So it belongs only into a context that counts as tainted already. The container
 * that made it is not trusted either: a line of another form is left out.
 */
export function repositoryMapText({ files, lines }: Pick<RepositoryMap, 'files' | 'lines'>): string | null {
  const kept: string[] = [];
  let chars = 0;
  for (const line of lines) {
    chars += line.length + 1;
    if (chars > LONGEST) break;
    if (LINE.test(line)) kept.push(line);
  }
  if (kept.length === 0) return null;
  return [
    `${kept.length} of ${files} source files, those that others import most or that were changed lately:`,
    ...kept,
  ].join('\n');
}
