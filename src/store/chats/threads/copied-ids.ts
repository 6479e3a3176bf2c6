import { type RawBuilder, sql } from 'kysely';

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
