import { createHash, randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import { keyTooLong } from '../errors/texts.ts';

const LENGTH_LIMIT = 200;
/** What clients repeat over the restart of an upgrade: the version before stored their keys as they came. */
const BARE_BEFORE: ReadonlySet<string> = new Set(['turn', 'message']);

/**
 * What a request is called by: the client's `Idempotency-Key`, within its operation and target, or something fresh. `body` is what was
 * asked, as it was understood: a client that writes its JSON in another order repeats itself all the same. @throws ApiError 400
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
