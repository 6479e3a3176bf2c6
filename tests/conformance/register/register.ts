/**
 * The register of the contract (Fetch API reference 0.0.94): what each of its lines promises, and what shows that it
 * holds. Sentences stand here by line and in our own words, because the contract is not part of this repository.
 * `register.test.ts` checks that every line is here and every proof exists.
 */
export const CONTRACT_LINES = 770;
export const CONTRACT_SHA256 = '495faf75a328b589eb1d69c172c18e49c864e36c7deb68f496a733bb513e2384';

export type Proof =
  /** a test whose title begins with these words */
  | { file: string; title: string }
  /** the table of declarations has this argument of the tool, or its danger */
  | { declares: string; argument?: string }
  /** the run of all tools has a test of what this tool returns */
  | { returns: string }
  /**
   * docs/differences.md has a row that begins with these words: our behaviour is another one, and a test beside shows
   * it
   */
  | { differs: string };

export interface Sentence {
  from: number;
  to: number;
  says: string;
  proofs: Proof[];
}

export const shown =
  (file: string) =>
  (title: string): Proof => ({ file: `tests/${file}.test.ts`, title });
export const differs = (row: string): Proof => ({ differs: row });

/** Lines `at` (one, or from and to) say this, and these show it. */
export const says = (at: number | [number, number], what: string, ...proofs: Proof[]): Sentence => ({
  from: typeof at === 'number' ? at : at[0],
  to: typeof at === 'number' ? at : at[1],
  says: what,
  proofs,
});

/** Headings, empty lines, and what is about the source of the original. */
export interface Silent {
  from: number;
  to: number;
  why: string;
}

/** The lines of one tool: what it does, its arguments by line, what it returns, and its danger. */
export function toolLines(
  name: string,
  at: { heading: number; does: number; args?: Record<string, number>; returns: number; danger: number; none?: number },
  ...proofs: Proof[]
): Sentence[] {
  const { heading, does, args = {}, returns, danger, none } = at;
  return [
    says(heading, `${name} exists`, { declares: name }),
    says(does, `what ${name} does`, { returns: name }, ...proofs),
    ...(none ? [says(none, `${name} has no parameters`, { declares: name })] : []),
    ...Object.entries(args).map(([argument, line]) =>
      says(line, `${argument} of ${name}`, { declares: name, argument }),
    ),
    says(returns, `what ${name} returns`, { returns: name }),
    says(danger, `danger of ${name}`, { declares: name }),
  ];
}
