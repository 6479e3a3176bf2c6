import { EdgeError } from './reply.ts';

/** How one query parameter is read: a number from 0 to 2^64-1, exactly `true` or `false`, or as it stands. */
export type QueryKind = 'whole' | 'flag' | 'text';
type QueryValue<K extends QueryKind> = K extends 'whole' ? number : K extends 'flag' ? boolean : string;

const refuse = (what: string): EdgeError => new EdgeError(400, `Failed to deserialize query string: ${what}`);

/**
 * Reads the known parameters of a raw query string; others are ignored, absent ones stay undefined. Numbers above 2^53-1 are
 * cut to it: they are limits and cursors, and nothing is that long. @throws EdgeError 400
 */
export function readQuery<Q extends Record<string, QueryKind>>(raw: string, kinds: Q): { [K in keyof Q]?: QueryValue<Q[K]> } {
  const values: Record<string, number | boolean | string> = {};
  for (const [key, value] of new URLSearchParams(raw)) {
    const kind = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
    if (!kind) continue;
    if (Object.hasOwn(values, key)) throw refuse(`duplicate field \`${key}\``);
    values[key] = kind === 'flag' ? flag(key, value) : kind === 'whole' ? whole(key, value) : value;
  }
  return values as { [K in keyof Q]?: QueryValue<Q[K]> };
}

function flag(key: string, value: string): boolean {
  if (value !== 'true' && value !== 'false') throw refuse(`${key}: provided string was not \`true\` or \`false\``);
  return value === 'true';
}

function whole(key: string, value: string): number {
  if (value === '') throw refuse(`${key}: cannot parse integer from empty string`);
  if (!/^\+?[0-9]+$/.test(value)) throw refuse(`${key}: invalid digit found in string`);
  const exact = BigInt(value.replace('+', ''));
  if (exact >= 2n ** 64n) throw refuse(`${key}: number too large to fit in target type`);
  return exact > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(exact);
}
