import { z } from 'zod';
import { badQuery } from '../errors/texts.ts';
import type { QueryFields, QueryOf } from './endpoint.ts';

/** A number from 0 to 2^64-1, cut to 2^53-1: these are limits and cursors, which are never that large. */
export const whole = z
  .string()
  .transform((text, ctx) => {
    const refused =
      text === ''
        ? 'cannot parse integer from empty string'
        : /^\+?[0-9]+$/.test(text)
          ? null
          : 'invalid digit found in string';
    if (refused === null && BigInt(text.replace('+', '')) < 2n ** 64n)
      return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
    ctx.addIssue(refused ?? 'number too large to fit in target type');
    return z.NEVER;
  })
  .meta({ type: 'integer', minimum: 0 });

/** Exactly `true` or `false`. */
export const flag = z
  .string()
  .refine((text) => text === 'true' || text === 'false', 'provided string was not `true` or `false`')
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });

/**
 * Reads the known parameters of a raw query string. Others are ignored, absent ones stay undefined. @throws EdgeError
 * 400
 */
export function readQuery<Fields extends QueryFields>(raw: string, fields: Fields): QueryOf<Fields> {
  const values: Record<string, unknown> = {};
  for (const [name, text] of new URLSearchParams(raw)) {
    if (!Object.hasOwn(fields, name)) continue;
    if (Object.hasOwn(values, name)) throw badQuery(`duplicate field \`${name}\``);
    const parsed = fields[name]!.safeParse(text);
    if (!parsed.success) throw badQuery(`${name}: ${parsed.error.issues[0]!.message}`);
    values[name] = parsed.data;
  }
  return values as QueryOf<Fields>;
}
