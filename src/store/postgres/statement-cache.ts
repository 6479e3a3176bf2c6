import pg from 'pg';
import { storableText } from '../../domain/text/storable.ts';

/** Statements that a process keeps prepared. What it sends is a few dozen texts; only lists of ids of changing length could make more. */
const LIMIT = 200;
const names = new Map<string, string>();
let generation = 0;

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known || names.size >= LIMIT) return known;
  const name = `fetch_${generation}_${names.size}`;
  names.set(text, name);
  return name;
}

/**
 * A parameter as PostgreSQL takes it. Every text of the store passes here, whoever sends it: one that PostgreSQL refuses would fail on every
 * attempt, and hold up what comes after it. JSON is a text with escapes by now: `json` mends what is inside.
 */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  return Array.isArray(value) ? value.map(storable) : value;
}

/** Parsing and planning cost a short statement more than running it: each is prepared once on each connection. */
export class PreparingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `pg` cannot be named
  override query(...args: any[]): any {
    if (Array.isArray(args[1])) args[1] = args[1].map(storable);
    const [text, values] = args;
    const name = typeof text === 'string' && Array.isArray(values) && values.length > 0 && args.length === 2 ? nameOf(text) : undefined;
    if (name === undefined) return super.query(...(args as [string]));
    return super.query({ name, text, values }).catch((error: { code?: string }) => {
      // another version of this program has changed a table: the next attempt prepares anew
      if (error.code === '0A000') {
        generation += 1;
        names.clear();
      }
      throw error;
    });
  }
}
