import { CompiledQuery, type QueryCreator } from 'kysely';
import type { Database } from '../schema/schema.ts';
import type { Db } from './database.ts';
import { type NamedQuery, queryBuilder } from './driver.ts';

/** The output of the query builder, or of `sql`. */
interface Compiles<R> {
  compile(db: Db): CompiledQuery<R>;
}

/**
 * A statement whose text never changes. `name` is what connections know it by once they have prepared it, so each has
 * its own. Compiled once, on the first call: for the few that every step of every turn sends, building costs more than
 * sending. `build` may use its arguments only as query parameters: any other use keeps the value of the first call.
 */
export function compiled<const A extends readonly unknown[], R>(
  name: string,
  build: (db: QueryCreator<Database>, ...args: A) => Compiles<R>,
): (...args: A) => CompiledQuery<R> {
  let text: string | undefined;
  let parameters: Array<(args: A) => unknown> = [];
  return (...args) => {
    if (text === undefined) {
      const marks = args.map(() => Symbol('argument'));
      const first = build(queryBuilder, ...(marks as unknown as A)).compile(queryBuilder);
      parameters = first.parameters.map((value) => {
        const at = marks.indexOf(value as symbol);
        return at < 0 ? () => value : (given) => given[at];
      });
      text = first.sql;
    }
    const values = parameters.map((of) => of(args));
    const named: NamedQuery = { ...CompiledQuery.raw(text, values), name };
    return named as CompiledQuery<R>;
  };
}
