import { createHash, randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import { storableText } from '../../domain/text/storable.ts';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import { keyTooLong } from '../errors/texts.ts';

const LENGTH_LIMIT = 200;
/**
 * Operations whose keys the version before stored as they came. A client may repeat such a request after an upgrade.
 */
const BARE_BEFORE: ReadonlySet<string> = new Set(['turn', 'message']);

/**
 * Identifies a request: the client's `Idempotency-Key`, or `operation_key` of its body, within its
 * operation and target, or a fresh key. `body` is the
 * parsed request, so the same JSON in another order counts as a repetition. @throws ApiError 400
 */
export function requestKey(ctx: Context, operation: string, body: unknown): RequestKey {
  const named: unknown = ctx.state.operationKey;
  const key = storableText(ctx.get('idempotency-key') || (typeof named === 'string' ? named : '')).trim();
  if (key.length > LENGTH_LIMIT) throw keyTooLong(LENGTH_LIMIT);
  if (!key) return { id: randomUUID(), fingerprint: null };
  const fingerprint = createHash('sha256')
    .update(JSON.stringify(body ?? null))
    .digest('hex');
  return { id: `${operation} ${key}`, fingerprint, ...(BARE_BEFORE.has(operation) && { before: key }) };
}
