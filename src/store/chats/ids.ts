import { createHash, createHmac, randomBytes } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';

export { cut } from '../../domain/text/storable.ts';

/** `prefix` + 16 random hex digits; with eight, collisions were seen in the reference system. */
export const freshId = (prefix: 'thr_' | 'turn_' | 'item_' | 'inb_' | 'run_' | 'rem_' | 'task_'): string =>
  prefix + randomBytes(8).toString('hex');

/** The same id for the same parts, so that a retried activity writes to the row of its first attempt. */
export const derivedId = (prefix: 'item_' | 'call_' | 'msg_' | 'turn_', ...parts: Array<string | number>): string =>
  prefix + createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16);

/**
 * The part of a workflow id for an address. It is a keyed hash, because an id is never encrypted and a phone number is
 * easy to guess.
 */
export const chatKey = (secret: string, channel: string, address: string): string =>
  createHmac('sha256', secret).update(`${channel}\n${address}`).digest('hex').slice(0, 20);

/** Rough size of a text in tokens (four characters each), for budgets of context and never for billing. */
export const roughTokens = (text: string): number => Math.ceil(text.length / 4) + 4;

/** Item of a steering message, and its row in the transcript. */
export const steerItemId = (inboxId: string): string => derivedId('item_', inboxId, 'steer');
export const steerMessageId = (inboxId: string): string => derivedId('msg_', steerItemId(inboxId));

/**
 * Ids in a copied thread. Rows of a copy have ids of their own, because the thread that it was copied from may be
 * erased. Texts in the copy still name the first ones: an answer says `attachment:att_…`, a call of `read_output` has a
 * `callId`.
 */

/**
 * The id that a row gets in the copy `threadId`: as `derivedId(prefix, threadId, id)` makes it. `id` null stays null.
 */
export const idInCopy = (
  prefix: 'turn_' | 'item_' | 'call_' | 'msg_' | 'att_',
  threadId: string,
  id: string,
): RawBuilder<string> =>
  sql<string>`${sql.lit(prefix)} || left(encode(sha256(convert_to(${threadId}::text || E'\\n' || ${sql.ref(id)}, 'UTF8')), 'hex'), 16)`;

/** The row of this id, or the copy of it. Only the thread or the chat, which the caller names, makes it one row. */
export const isOrWas = (table: 'calls' | 'transcript' | 'attachments', id: string): RawBuilder<boolean> =>
  sql<boolean>`(${sql.ref(`${table}.id`)} = ${id} or ${sql.ref(`${table}.copied_from`)} = ${id})`;
