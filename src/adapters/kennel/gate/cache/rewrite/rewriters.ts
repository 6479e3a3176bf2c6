import { cargo } from './cargo.ts';
import { pip } from './pip.ts';
import type { IndexAnswer, Rewriter } from './rewriter.ts';

/**
 * Go and Maven have relative addresses alone. The addresses in a document of npm stay as they are: npm writes them into
 * `package-lock.json`, and takes the files of the default registry from the one that it is told.
 */
const REWRITERS: readonly Rewriter[] = [pip, cargo];

export const rewriterFor = (answer: IndexAnswer): Rewriter | undefined =>
  REWRITERS.find((rewriter) => rewriter.concerns(answer));
