/** The parts of two packages that are used here: the published types are of other versions. */

declare module 'make-fetch-happen' {
  import type { Agent } from 'node:http';

  /** An error of the body must have a listener from the beginning. */
  export type Body = NodeJS.ReadableStream;

  export interface FetchOptions {
    method: string;
    headers: Record<string, string>;
    body?: Buffer;
    /** folder of the cache; without it nothing is cached */
    cachePath?: string;
    cache?: 'default' | 'reload' | 'only-if-cached';
    redirect: 'manual';
    agent: (url: URL) => Agent;
    signal: AbortSignal;
    /** until an answer begins, and between two parts of it, ms */
    timeout: number;
  }

  export interface Fetched {
    status: number;
    headers: { get(name: string): string | null };
    body: Body | null;
  }

  export default function fetch(url: string, options: FetchOptions): Promise<Fetched>;
}

declare module 'cacache' {
  interface Cacache {
    get: {
      stream: { byDigest(folder: string, integrity: string): NodeJS.ReadableStream };
      hasContent(folder: string, integrity: string): Promise<object | false>;
    };
  }
  const cacache: Cacache;
  export default cacache;
}
