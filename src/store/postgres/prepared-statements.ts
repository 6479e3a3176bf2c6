import type { CompiledQuery } from 'kysely';

/** A query with the name of its prepared statement. `compiled` creates them. */
export interface NamedQuery extends CompiledQuery {
  readonly name: string;
}

/**
 * Limit of prepared texts without their own name. A process sends a few dozen; only lists of ids of changing length
 * could make more.
 */
const LIMIT = 200;

/**
 * The names of the statements that connections to one database keep prepared: parsing and planning cost a short
 * statement more than running it. What `compiled` makes brings its name. Other texts get a number when they are sent
 * first, because the query builder makes them at run time: which filters apply and how many writes wait decides. A full
 * list takes no more instead of dropping the oldest, which connections would still hold.
 */
export class PreparedStatements {
  readonly #numbered = new Map<string, string>();
  #generation = 0;

  /** Undefined: this text is not prepared. */
  nameOf(query: CompiledQuery | NamedQuery): string | undefined {
    if ('name' in query) return this.#generation === 0 ? query.name : `${query.name}_${this.#generation}`;
    const { sql, parameters } = query;
    if (parameters.length === 0) return undefined;
    const known = this.#numbered.get(sql);
    if (known !== undefined || this.#numbered.size >= LIMIT) return known;
    const name = `built_${this.#numbered.size}_${this.#generation}`;
    this.#numbered.set(sql, name);
    return name;
  }

  /** Prepares all of them again under new names, after another version of this program has changed a table. */
  renew(): void {
    this.#generation += 1;
    this.#numbered.clear();
  }
}
