import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Body } from 'make-fetch-happen';
import type { Answer, RegistryCache } from './registry-cache.ts';

/** Headers that a container gets. */
const PASSED = ['content-type', 'cache-control', 'etag', 'last-modified', 'retry-after'];
/** make-fetch-happen has undone these. */
const DECODED = /^(x-)?(gzip|deflate)$|^br$/;
/** A client that reads more slowly than the registry sends gets so much of it in memory, and the rest from the disk. */
const MOST_AHEAD = 1024 * 1024;

/** The headers of an answer. `length`: of the body, when it is another one. */
export function headersOf(answer: Answer, length?: number): Record<string, string> {
  const encoding = answer.header('content-encoding');
  const decoded = encoding !== null && DECODED.test(encoding);
  const known = decoded && answer.from !== 'disk' ? null : answer.header('content-length');
  const size = length ?? known;
  return {
    ...Object.fromEntries(
      PASSED.flatMap((name) => (answer.header(name) === null ? [] : [[name, answer.header(name)!]])),
    ),
    ...(encoding !== null && !decoded && { 'content-encoding': encoding }),
    ...(size !== null && { 'content-length': String(size) }),
  };
}

/** Sends an answer to a container. Its connection is cut when the answer cannot be completed. */
export async function relay(cache: RegistryCache, answer: Answer, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, headersOf(answer));
  const { body } = answer;
  if (!body) return void response.end();
  try {
    if (answer.from === 'disk') await pipeline(read(body), response);
    else await asItComes(cache, answer, body, response);
  } catch {
    response.destroy();
  }
}

/**
 * make-fetch-happen takes all that a registry sends, however slowly it is read here. So what a slow client has not read
 * is not kept in memory.
 */
async function asItComes(cache: RegistryCache, { from }: Answer, body: Body, response: ServerResponse): Promise<void> {
  let sent = 0;
  let all = 0;
  let integrity: string | null = null;
  body.on('integrity', (found: unknown) => {
    integrity = String(found);
  });
  await new Promise<void>((done, failed) => {
    body.on('error', failed);
    body.on('end', done);
    body.on('data', (chunk: Buffer) => {
      all += chunk.length;
      if (response.writableLength > MOST_AHEAD) {
        if (from === 'registry') failed(new Error('the client is too slow for an answer that is not kept'));
      } else if (all - chunk.length === sent) {
        sent += chunk.length;
        response.write(chunk);
      }
    });
  });
  if (from === 'both') cache.noteWritten(all);
  if (sent === all) return void response.end();
  if (integrity === null) throw new Error('the answer was not kept');
  await pipeline(after(read(await cache.stream(integrity)), sent), response);
}

/** The parts of a stream. One that is left before its end goes on by itself, so that its file is closed. */
async function* read(body: Body): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } finally {
    body.resume();
  }
}

async function* after(parts: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let skip = bytes;
  for await (const part of parts) {
    if (part.length > skip) yield part.subarray(skip);
    skip = Math.max(0, skip - part.length);
  }
}

/** The whole text of an answer. Throws when it is longer than `most` bytes. */
export async function textOf(cache: RegistryCache, { body, from }: Answer, most: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body ? read(body) : []) {
    size += part.length;
    if (size > most) throw new Error(`an index is larger than ${most} bytes`);
    parts.push(part);
  }
  if (from === 'both') cache.noteWritten(size);
  return Buffer.concat(parts).toString('utf8');
}
