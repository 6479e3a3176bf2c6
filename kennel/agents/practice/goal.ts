/** The goals that the practice agent understands: clauses separated by `;` (`\;` is a semicolon in a text). */

export type Clause =
  | { verb: 'write' | 'append'; file: string; text: string }
  | { verb: 'wait'; seconds: number }
  | { verb: 'run' | 'allow?' | 'look'; command: string }
  | { verb: 'setup'; script: string }
  | { verb: 'ask'; question: string; options: string[] }
  | { verb: 'fail' | 'say'; text: string };

export const UNDERSTOOD =
  'I understand, parted by semicolons: write FILE TEXT, append FILE TEXT, wait SECONDS, run COMMAND, allow? COMMAND, look COMMAND (also while I plan; it may fail), ask QUESTION | OPTION | OPTION, setup SCRIPT, say TEXT, fail TEXT. {answer} stands for the last answer.';

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
