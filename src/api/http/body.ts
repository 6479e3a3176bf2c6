import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import type { z } from 'zod';
import { badBody, badJson, bodyBrokenOff, bodyTooLong, notJson } from '../errors/errors.ts';
import { type JsonNode, JsonSyntaxError, joinPath, position, readJson } from '../errors/json-text.ts';

const BODY_LIMIT = 2 * 1024 * 1024;

/**
 * Reads and validates a JSON body. It is written by hand, because clients know the error texts with line and column,
 * and no body parser gives them.
 * @throws EdgeError 400 (not JSON), 413, 415, 422 (JSON of another shape)
 */
export async function jsonBody<S extends z.ZodObject>(ctx: Context, schema: S): Promise<z.output<S>> {
  if (!isJson(ctx.get('content-type'))) throw notJson();
  return parseBody(await readBody(ctx.req), schema);
}

/** An optional body: without one, each field counts as not given. @throws EdgeError 400, 413, 422 */
export async function optionalBody<S extends z.ZodObject>(ctx: Context, schema: S): Promise<z.output<S>> {
  const bytes = await readBody(ctx.req);
  return parseBody(bytes.length > 0 ? bytes : Buffer.from('{}'), schema);
}

/** `application/json` and `application/<anything>+json`, with any parameters. */
const isJson = (type: string): boolean => /^application\/(?:[^\s;/]+\+)?json\s*(?:;.*)?$/i.test(type.trim());

function parseBody<S extends z.ZodObject>(bytes: Buffer, schema: S): z.output<S> {
  let root: JsonNode;
  try {
    root = readJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badJson(`${error.path ? `${error.path}: ` : ''}${error.message} at ${position(bytes, error.at)}`);
  }
  const value = parsedValue(bytes, root);
  const parsed = schema.safeParse(value);
  const misfit = firstMisfit(root, value, schema, parsed.error?.issues ?? []);
  if (misfit) throw badBody(`${misfit.path ? `${misfit.path}: ` : ''}${misfit.what} at ${position(bytes, misfit.at)}`);
  return parsed.data as z.output<S>;
}

/** The value as the reference server reads it: the last of repeated keys counts, and `__proto__` is an ordinary key. */
const parsedValue = (bytes: Buffer, { start, end }: JsonNode): unknown =>
  JSON.parse(bytes.toString('utf8', start, end));

/** Not an async iterator: leaving one early destroys the socket, and the client would never read the 413. */
export function readBody(request: IncomingMessage, limit = BODY_LIMIT): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLong = () => {
      request.removeAllListeners('data');
      request.resume();
      reject(bodyTooLong());
    };
    if (Number(request.headers['content-length'] ?? 0) > limit) return tooLong();
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) return tooLong();
      chunks.push(chunk);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('aborted', () => reject(bodyBrokenOff()));
  });
}

/** Where a body has the wrong shape, in the words of serde, which clients know. */
interface Misfit {
  path: string;
  what: string;
  at: number;
}

/** The first misfit: a reader that goes from front to back reports no other. */
function firstMisfit(
  root: JsonNode,
  body: unknown,
  schema: z.ZodObject,
  issues: readonly z.core.$ZodIssue[],
): Misfit | undefined {
  const misfits = [...repeatedFields(root, schema), ...issues.map((issue) => misfit(root, body, issue, schema))];
  return misfits.sort((a, b) => a.at - b.at)[0];
}

function* repeatedFields(root: JsonNode, schema: z.ZodObject): Generator<Misfit> {
  const known = new Set<string>();
  for (const { key, keyEnd } of root.fields ?? []) {
    if (!Object.hasOwn(schema.shape, key)) continue;
    if (known.has(key)) yield { path: '', what: `duplicate field \`${key}\``, at: keyEnd };
    known.add(key);
  }
}

/** The name of a body in error texts: the id of its schema. */
const nameOf = (schema: z.ZodObject): string => String(schema.meta()?.id ?? 'Body');

function misfit(root: JsonNode, body: unknown, issue: z.core.$ZodIssue, schema: z.ZodObject): Misfit {
  let node = root;
  let value = body;
  let path = '';
  for (const segment of issue.path) {
    const inner =
      typeof segment === 'number' ? node.items?.[segment] : node.fields?.findLast(({ key }) => key === segment)?.node;
    // a missing field is noticed at the end of its object
    if (!inner) return { path, what: `missing field \`${String(segment)}\``, at: node.end };
    node = inner;
    value = (value as Record<string | number, unknown>)[segment as string | number];
    path = joinPath(path, segment as string | number);
  }
  const fields = Object.keys(schema.shape).length;
  if (node === root && node.kind === 'array') {
    return {
      path,
      what: `invalid length ${node.length}, expected struct ${nameOf(schema)} with ${fields} element${fields === 1 ? '' : 's'}`,
      at: node.end,
    };
  }
  if (issue.code !== 'invalid_type') return { path, what: issue.message, at: node.end };
  // containers are refused at their first byte, scalars after their last
  const at = node.kind === 'array' || node.kind === 'object' ? node.start : node.end;
  return {
    path,
    what: `invalid type: ${found(node, value)}, expected ${expected(issue.expected, node === root ? nameOf(schema) : '')}`,
    at,
  };
}

function found(node: JsonNode, value: unknown): string {
  switch (node.kind) {
    case 'string':
      return `string ${JSON.stringify(value)}`;
    case 'number':
      return Number.isInteger(value) ? `integer \`${String(value)}\`` : `floating point \`${String(value)}\``;
    case 'boolean':
      return `boolean \`${String(value)}\``;
    case 'array':
      return 'sequence';
    case 'object':
      return 'map';
    default:
      return 'null';
  }
}

function expected(type: string, name: string): string {
  switch (type) {
    case 'object':
      return name ? `struct ${name}` : 'an object';
    case 'array':
      return 'a sequence';
    default:
      return `a ${type}`;
  }
}
