import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ClientOfSession } from '../../../adapters/mcp/serving/protocol.ts';
import { oneLine } from '../../../domain/text/foreign-text.ts';

/** One message of JSON-RPC: a request, a notification or a response. */
export const message = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string().max(200), z.number()]).optional(),
    method: z.string().optional(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'McpMessage', examples: [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }] });
export type Message = z.output<typeof message>;

/** A session of a program. Its id says all that has to be known of it, so it outlives every process of ours. */
export interface ProgramSession extends ClientOfSession {
  id: string;
  /** of its chat */
  address: string;
}

const LONGEST_NAME = 60;
const shape = z.object({ r: z.string().regex(/^[\w-]{22}$/), n: z.string().max(LONGEST_NAME), f: z.boolean() });

export const newSessionId = ({ name, forms }: ClientOfSession): string =>
  encode({ r: randomBytes(16).toString('base64url'), n: oneLine(name, LONGEST_NAME - 1), f: forms });

/** Null for what is no id of ours. */
export function sessionOf(id: string): ProgramSession | null {
  const read = shape.safeParse(decode(id));
  return read.success
    ? { id, address: `mcp:${read.data.r}`, name: oneLine(read.data.n) || 'an MCP client', forms: read.data.f }
    : null;
}

/**
 * Where the stream of a call is, as the id of its events: whose turn it follows, for which request, and the last event
 * of the thread that the client has. A client that comes back with it is answered by any process that it reaches.
 */
export interface StreamCursor {
  threadId: string;
  turnId: string;
  requestId: string | number;
  progressToken: string | number | undefined;
  seq: number;
}

const name = z.union([z.string(), z.number()]);
const id = z.string().regex(/^\w{1,128}$/);
const cursor = z.tuple([id, id, name, name.nullable(), z.int().nonnegative()]);

export const cursorId = ({ threadId, turnId, requestId, progressToken, seq }: StreamCursor): string =>
  encode([threadId, turnId, requestId, progressToken ?? null, seq]);

export function cursorOf(text: string): StreamCursor | null {
  const read = cursor.safeParse(decode(text));
  if (!read.success) return null;
  const [threadId, turnId, requestId, progressToken, seq] = read.data;
  return { threadId, turnId, requestId, progressToken: progressToken ?? undefined, seq };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
}
