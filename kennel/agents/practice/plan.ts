import { clauseOf, clausesOf } from './goal.ts';

/** The plan of the practice agent: its clauses as numbered steps, with the files that they write. */
export function planOf(clauses: readonly string[]): string {
  const files = clauses.flatMap((text) => {
    const clause = clauseOf(text, []);
    return clause?.verb === 'write' || clause?.verb === 'append' ? [clause.file] : [];
  });
  const steps = clauses.map((clause, at) => `${at + 1}. ${clause}`);
  return [
    ...(steps.length > 0 ? steps : ['Nothing is left to do.']),
    '',
    'Files:',
    ...[...new Set(files)].map((file) => `- ${file}`),
  ].join('\n');
}

/**
 * The clauses after a person's words about the plan: `without 2` takes a step out, clauses are added at the end, and
 * any other words are said at the end.
 */
export function changedBy(clauses: readonly string[], words: string): string[] {
  const without = /^without (\d{1,3})$/i.exec(words.trim())?.[1];
  if (without !== undefined) return clauses.filter((_, at) => at !== Number(without) - 1);
  const more = clausesOf(words);
  return [...clauses, ...(more.every((clause) => clauseOf(clause, []) !== null) ? more : [`say ${words.trim()}`])];
}
