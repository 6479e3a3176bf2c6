import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import type { z } from 'zod';
import { badBody, badJson, bodyBrokenOff, bodyTooLong, notJson } from '../errors/errors.ts';
import { type JsonNode, JsonSyntaxError, position, readJson } from '../errors/json-text.ts';
import { firstMisfit } from '../errors/misfit.ts';

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
