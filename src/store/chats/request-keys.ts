import type { Tx } from '../postgres/database.ts';

/** What a client calls a request, so that a repeated request has one effect. */
export interface RequestKey {
  /** the client's key with the operation and its target, because one key may name a turn and its interrupt */
  id: string;
  /** digest of the request; null for a request without a key, which nothing repeats */
  fingerprint: string | null;
  /** the bare key, as the version before stored it */
  before?: string;
}

/** The same key with another body: neither request may be taken for the other. */
export class KeyReused extends Error {
  constructor() {
    super('Idempotency-Key was used for a request with another body; use a new key for a new request');
    this.name = 'KeyReused';
  }
}

/** @throws KeyReused */
export function requireSame(known: string | null, given: string | null | undefined): void {
  if (known !== null && given != null && known !== given) throw new KeyReused();
}

/**
 * Claims a key for a thread that this transaction creates. Returns null, or the thread that it was claimed for before.
 * @throws KeyReused
 */
export async function takeForThread(tx: Tx, key: RequestKey, threadId: string): Promise<string | null> {
  const { id, fingerprint } = key;
  if (fingerprint === null) return null;
  // waits for a transaction that claims the same key now
  const taken = await tx
    .insertInto('request_keys')
    .values({ key: id, fingerprint, thread_id: threadId })
    .onConflict((c) => c.column('key').doNothing())
    .returning('key')
    .executeTakeFirst();
  if (taken) return null;
  const row = await tx
    .selectFrom('request_keys')
    .select(['fingerprint', 'thread_id'])
    .where('key', '=', id)
    .executeTakeFirstOrThrow();
  requireSame(row.fingerprint, fingerprint);
  return row.thread_id;
}
