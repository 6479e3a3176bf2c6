import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import type { z } from 'zod';
import { type JsonNode, JsonSyntaxError, joinPath, position, readJson } from './json-text.ts';
import { EdgeError } from './reply.ts';

export const BODY_LIMIT = 2 * 1024 * 1024;

/** A request body: a zod object, and the name that error texts call it by. */
export interface Shape<S extends z.ZodObject = z.ZodObject> {
  name: string;
  schema: S;
}

/** Reads and validates a JSON body. @throws EdgeError 400 (not JSON), 413, 415, 422 (JSON of another shape) */
export async function jsonBody<S extends z.ZodObject>(ctx: Context, shape: Shape<S>): Promise<z.output<S>> {
  if (!isJson(ctx.get('content-type'))) throw new EdgeError(415, 'Expected request with `Content-Type: application/json`');
  return parseBody(await readBody(ctx.req), shape);
}

/** `application/json` and `application/<anything>+json`, whatever the parameters. */
export const isJson = (type: string): boolean => /^application\/(?:[^\s;/]+\+)?json\s*(?:;.*)?$/i.test(type.trim());

export function parseBody<S extends z.ZodObject>(bytes: Buffer, shape: Shape<S>): z.output<S> {
  let root: JsonNode;
  try {
    root = readJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new EdgeError(
      400,
      `Failed to parse the request body as JSON: ${error.path ? `${error.path}: ` : ''}${error.message} at ${position(bytes, error.at)}`,
    );
  }
  const value = parsedValue(bytes, root);
  const misfits = [...repeatedFields(root, shape.schema)];
  const parsed = shape.schema.safeParse(value);
  if (!parsed.success) misfits.push(...parsed.error.issues.map((issue) => misfit(root, value, issue, shape)));
  // a reader from front to back reports the first one
  const first = misfits.sort((a, b) => a.at - b.at)[0];
  if (first) {
    throw new EdgeError(
      422,
      `Failed to deserialize the JSON body into the target type: ${first.path ? `${first.path}: ` : ''}${first.what} at ${position(bytes, first.at)}`,
    );
  }
  return parsed.data as z.output<S>;
}

/** The value as the reference reads it: of a key that stands twice the last one counts, and `__proto__` is just a key. */
const parsedValue = (bytes: Buffer, { start, end }: JsonNode): unknown => JSON.parse(bytes.toString('utf8', start, end));

interface Misfit {
  path: string;
  what: string;
  at: number;
}

function* repeatedFields(root: JsonNode, schema: z.ZodObject): Generator<Misfit> {
  const known = new Set<string>();
  for (const { key, keyEnd } of root.fields ?? []) {
    if (!Object.hasOwn(schema.shape, key)) continue;
    if (known.has(key)) yield { path: '', what: `duplicate field \`${key}\``, at: keyEnd };
    known.add(key);
  }
}

function misfit(root: JsonNode, body: unknown, issue: z.core.$ZodIssue, shape: Shape): Misfit {
  let node = root;
  let value = body;
  let path = '';
  for (const step of issue.path) {
    const inner = typeof step === 'number' ? node.items?.[step] : node.fields?.findLast(({ key }) => key === step)?.node;
    // a missing field is noticed where its object ends
    if (!inner) return { path, what: `missing field \`${String(step)}\``, at: node.end };
    node = inner;
    value = (value as Record<string | number, unknown>)[step as string | number];
    path = joinPath(path, step as string | number);
  }
  const fields = Object.keys(shape.schema.shape).length;
  if (node === root && node.kind === 'array') {
    return { path, what: `invalid length ${node.length}, expected struct ${shape.name} with ${fields} element${fields === 1 ? '' : 's'}`, at: node.end };
  }
  if (issue.code !== 'invalid_type') return { path, what: issue.message, at: node.end };
  // containers are refused at their first byte, scalars once they are read
  const at = node.kind === 'array' || node.kind === 'object' ? node.start : node.end;
  return { path, what: `invalid type: ${found(node, value)}, expected ${expected(issue.expected, node === root ? shape.name : '')}`, at };
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

/** Not an async iterator: leaving one early destroys the socket, and the client would never read the 413. */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLong = () => {
      request.removeAllListeners('data');
      request.resume();
      reject(new EdgeError(413, 'Failed to buffer the request body: length limit exceeded'));
    };
    if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT) return tooLong();
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > BODY_LIMIT) return tooLong();
      chunks.push(chunk);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('aborted', () => reject(new EdgeError(400, 'Failed to buffer the request body: connection closed')));
  });
}
