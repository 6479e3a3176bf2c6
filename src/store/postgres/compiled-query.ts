import { CompiledQuery } from 'kysely';
import type { Tx } from './database.ts';
import { newDraft } from './pipelined-transaction.ts';

/** What Kysely builds, and what `sql` does. */
interface Compiles<R> {
  compile(db: Tx): CompiledQuery<R>;
}

/**
 * A statement whose text never changes, built and compiled on its first use: for the few that every step of every turn sends, building
 * costs more than sending. `build` may use its arguments as parameters and for nothing else; whatever else it puts in stays as it was at first.
 */
export function fixed<const A extends readonly unknown[], R>(build: (db: Tx, ...args: A) => Compiles<R>): (...args: A) => CompiledQuery<R> {
  let text: string | undefined;
  let parameters: Array<(args: A) => unknown> = [];
  return (...args) => {
    if (text === undefined) {
      const db = newDraft();
      const marks = args.map(() => Symbol('argument'));
      const first = build(db, ...(marks as unknown as A)).compile(db);
      parameters = first.parameters.map((value) => {
        const at = marks.indexOf(value as symbol);
        return at < 0 ? () => value : (given) => given[at];
      });
      text = first.sql;
    }
    return CompiledQuery.raw(
      text,
      parameters.map((of) => of(args)),
    ) as CompiledQuery<R>;
  };
}
