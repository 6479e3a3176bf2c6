/** The goals that the practice agent understands: clauses separated by `;` (`\;` is a semicolon in a text). */

export type Clause =
  | { verb: 'write' | 'append'; file: string; text: string }
  | { verb: 'wait'; seconds: number }
  | { verb: 'run' | 'allow?' | 'look'; command: string }
  | { verb: 'setup'; script: string }
  | { verb: 'repair'; clause: string }
  | { verb: 'ask'; question: string; options: string[] }
  | { verb: 'fail' | 'say'; text: string };

export const UNDERSTOOD =
  'I understand, parted by semicolons: write FILE TEXT, append FILE TEXT, wait SECONDS, run COMMAND, allow? COMMAND, look COMMAND (also while I plan; it may fail), ask QUESTION | OPTION | OPTION, setup SCRIPT, say TEXT, fail TEXT, repair CLAUSE (if tests fail at the end). {answer} stands for the last answer.';

/** Texts of the clauses, without empty ones. */
export function clausesOf(goal: string): string[] {
  return goal
    .split(/(?<!\\);/)
    .map((clause) => clause.replaceAll('\\;', ';').trim())
    .filter(Boolean);
}

/** Null for a clause that is not understood. `answers` fill in `{answer}` (the last) and `{answer1}`, `{answer2}`, … */
export function clauseOf(text: string, answers: string[]): Clause | null {
  const filled = text.replace(
    /\{answer(\d*)\}/g,
    (whole, number: string) => (number ? answers[Number(number) - 1] : answers.at(-1)) ?? whole,
  );
  const [, verb, rest = ''] = /^(\S+)(?:\s+([\s\S]*))?$/.exec(filled) ?? [];
  switch (verb) {
    case 'write':
    case 'append': {
      const [, file, words = ''] = /^(\S+)(?:\s([\s\S]*))?$/.exec(rest) ?? [];
      if (!file) return null;
      const lines = words.replaceAll('\\n', '\n');
      return { verb, file, text: lines.endsWith('\n') ? lines : `${lines}\n` };
    }
    case 'wait': {
      const seconds = Number(rest);
      return rest && Number.isFinite(seconds) && seconds >= 0 ? { verb, seconds } : null;
    }
    case 'run':
    case 'allow?':
    case 'look':
      return rest ? { verb, command: rest } : null;
    case 'repair':
      return rest ? { verb, clause: rest } : null;
    case 'setup':
      return rest ? { verb, script: `${rest.replaceAll('\\n', '\n')}\n` } : null;
    case 'ask': {
      const [question = '', ...options] = rest.split('|').map((part) => part.trim());
      return question ? { verb, question, options: options.filter(Boolean) } : null;
    }
    case 'fail':
    case 'say':
      return { verb, text: rest };
    default:
      return null;
  }
}

/** The prompt after which the next clause of a `repair` is done. */
export const REPAIR = 'repair';

/** What the goal has for the case that tests fail at its end, in order. */
export const repairsOf = (clauses: readonly string[]): string[] =>
  clauses.flatMap((text) => {
    const clause = clauseOf(text, []);
    return clause?.verb === 'repair' ? [clause.clause] : [];
  });

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
