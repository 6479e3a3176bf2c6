import { createHash, randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import { z } from 'zod';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import { badQuery, badSegment, keyTooLong } from '../errors/errors.ts';
import type { QueryFields, QueryOf } from './endpoint.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Ids consist of letters, digits, `_` and `-`. Anything else is not an id of ours. */
export const ID = /^[A-Za-z0-9_-]{1,128}$/;
export const isId = (id: string): boolean => ID.test(id);

/** Decodes one path segment. A broken escape stays as it is. @throws EdgeError 400 when the bytes are not UTF-8 */
export function decodeSegment(raw: string, name: string): string {
  const bytes = Buffer.from(
    raw.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  try {
    return utf8.decode(bytes);
  } catch {
    throw badSegment(name);
  }
}
/** Those of questions about hosts have a full stop, too. */
export const isQuestionId = (id: string): boolean => /^[A-Za-z0-9_.-]{1,160}$/.test(id);

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

const LENGTH_LIMIT = 200;
/**
 * Operations whose keys the version before stored as they came. A client may repeat such a request after an upgrade.
 */
const BARE_BEFORE: ReadonlySet<string> = new Set(['turn', 'message']);

/**
 * Identifies a request: the client's `Idempotency-Key` within its operation and target, or a fresh key. `body` is the
 * parsed request, so the same JSON in another order counts as a repetition. @throws ApiError 400
 */
export function requestKey(ctx: Context, operation: string, body: unknown): RequestKey {
  const key = ctx.get('idempotency-key').trim();
  if (key.length > LENGTH_LIMIT) throw keyTooLong(LENGTH_LIMIT);
  if (!key) return { id: randomUUID(), fingerprint: null };
  const fingerprint = createHash('sha256')
    .update(JSON.stringify(body ?? null))
    .digest('hex');
  return { id: `${operation} ${key}`, fingerprint, ...(BARE_BEFORE.has(operation) && { before: key }) };
}
