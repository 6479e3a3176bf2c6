import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

/** One recorded exchange of the reference server. Ids, times and ports are replaced by placeholders in the recording. */
export interface Exchange {
  case: string;
  request: { line: string; headers: Record<string, string>; body: string | null };
  response: { status: number; headers: Record<string, string>; body: string };
}
export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

const folder = join(import.meta.dirname, 'golden');

const lines = <T>(file: string): T[] =>
  readFileSync(join(folder, file), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);

export const loadGolden = (): Exchange[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith('http'))
    .sort()
    .flatMap((file) => lines<Exchange>(file));

export const loadExchanges = (file: string): Exchange[] => lines<Exchange>(file);

/** A recorded event stream. Of repeated deltas of an item the first is kept, and texts are cut after 100 characters. */
export interface RecordedStream {
  case: string;
  headers?: Record<string, string>;
  frames: string[];
}

/** The recorded streams. They remember which were asked for, so that a test can tell of those that nobody compares. */
export class RecordedStreams {
  readonly #streams = new Map(lines<RecordedStream>('sse.jsonl').map((stream) => [stream.case, stream]));
  readonly #asked = new Set<string>();

  get(name: string): RecordedStream {
    const stream = this.#streams.get(name);
    if (!stream) throw new Error(`there is no recorded stream ${name}`);
    this.#asked.add(name);
    return stream;
  }

  neverAsked(): string[] {
    return [...this.#streams.keys()].filter((name) => !this.#asked.has(name));
  }
}

/** The name of every recording of the reference, also of those that have no copy here. One without a name has its file and its line. */
export const recordings = (): string[] => readFileSync(join(folder, 'recordings.txt'), 'utf8').trim().split('\n');

/** Sends a path as it is written: `fetch` would normalise `..` and escapes away. */
export function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Buffer | string | null,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { ...headers, ...(body ? { 'Content-Length': String(Buffer.byteLength(body)) } : {}) },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode!,
            headers: incoming.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
        incoming.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body ?? undefined);
  });
}

/** Replaces what differs on every run: ids in order of appearance by kind, times, and the workspace. */
export function normalise(text: string, workspace: string): string {
  const seen = new Map<string, string>();
  const count = { thr: 0, turn: 0, item: 0 };
  return text
    .replaceAll(workspace, '<ws>')
    .replace(/\b(thr|turn|item)_[0-9a-f]{16}\b/g, (id, kind: 'thr' | 'turn' | 'item') => {
      if (!seen.has(id)) seen.set(id, `${kind}<${++count[kind]}>`);
      return seen.get(id)!;
    })
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g, '<ts>');
}
