import { mkdirSync } from 'node:fs';
import { opendir, rm, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Body, Fetched, FetchOptions } from 'make-fetch-happen';
import type { Logger } from 'pino';
import type { Config } from '../../../../config.ts';
import { DAY, HOUR, MINUTE } from '../../../../domain/time.ts';
import type { Target } from '../egress/allow-list.ts';
import { type Marks, marksOf } from './request.ts';
import { BLOCKED, type Upstream } from './upstream.ts';

interface Kept {
  path: string;
  size: number;
  usedAt: number;
}

/** Below it are files that are being written. A process that was killed leaves them. */
const UNFINISHED = 'tmp';
const UNFINISHED_MS = HOUR;

/**
 * Removes the files of a cache that were not used for longest, until the rest takes no more than `bytes`. Entries of
 * its index count as files: looking one up writes it again. A file that is read is used; most systems note that once a
 * day.
 */
async function sweepFolder(folder: string, bytes: number): Promise<void> {
  const all: Kept[] = [];
  for await (const path of filesBelow(folder)) {
    const found = await stat(path).catch(() => null);
    if (!found) continue;
    if (!path.startsWith(join(folder, UNFINISHED, sep)))
      all.push({ path, size: found.size, usedAt: Math.max(found.atimeMs, found.mtimeMs) });
    else if (Date.now() - found.mtimeMs > UNFINISHED_MS) await rm(path, { force: true });
  }
  let left = all.reduce((sum, { size }) => sum + size, 0);
  for (const { path, size } of all.sort((one, other) => one.usedAt - other.usedAt)) {
    if (left <= bytes) return;
    await rm(path, { force: true });
    left -= size;
  }
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder, { recursive: true }).catch(() => null);
  if (!entries) return;
  for await (const entry of entries) if (entry.isFile()) yield join(entry.parentPath, entry.name);
}

/**
 * What is asked for, over the connections of one task. Of what a container sends, only `accept` gets here: answers are
 * kept for others too.
 */
interface Wanted {
  url: URL;
  method: 'GET' | 'HEAD';
  accept: string | undefined;
  upstream: Upstream;
  /** aborted when the client is gone */
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  header(name: string): string | null;
  body: Body | null;
  /**
   * `disk`: it was kept. `both`: it comes from the registry, and is written to the disk on the way. `registry`: it may
   * not be kept.
   */
  from: 'disk' | 'both' | 'registry';
}

interface RegistryCacheOptions {
  /** below the home of the kennel */
  folder: string;
  megabytes: number;
  log: Logger;
}

/**
 * After a registry could not be reached, what is kept is given without a try for this long: a machine without a network
 * waits long for each look-up.
 */
const AWAY_MS = 10_000;
/** The cache is swept when this part of its size was written. */
const SWEEP_PART = 0.1;
const USER_AGENT = 'fetch-durable (registry cache)';
const ANSWER_MS = 60_000;

/**
 * Answers of registries on the disk of this host, for all of its tasks. make-fetch-happen keeps them by the rules of
 * HTTP (RFC 9111): an answer that is fresh is given, an old one is checked at the registry. One that is old is still
 * given while the registry is away.
 */
export class RegistryCache {
  readonly marks: Marks;
  private readonly files: string;
  private readonly bytes: number;
  private readonly log: Logger;
  private readonly away = new Map<string, number>();
  private written = 0;
  private sweeping: Promise<void> | null = null;

  constructor({ folder, megabytes, log }: RegistryCacheOptions) {
    this.marks = marksOf(join(folder, 'key'));
    this.files = join(folder, 'files');
    mkdirSync(this.files, { recursive: true, mode: 0o700 });
    this.bytes = megabytes * 1024 * 1024;
    this.log = log;
  }

  /** Throws when the registry cannot be reached and nothing is kept. Follows no redirect. */
  async get(wanted: Wanted): Promise<Answer> {
    const kept = await this.kept(wanted);
    if (kept && (this.isAway(wanted.url) || isYoung(kept, wanted.url))) return kept;
    let answer: Answer;
    try {
      answer = await this.fresh(wanted);
    } catch (error) {
      if (!kept || wanted.signal.aborted || isBlocked(error)) throw error;
      return kept;
    }
    if (!kept || answer.status < 500) return answer;
    answer.body?.resume();
    return kept;
  }

  /** Passes a request on that is no question for a file. Its answer is not kept. */
  async send(
    { url, upstream, signal }: Wanted,
    request: { method: string; headers: Record<string, string>; body: Buffer },
  ): Promise<Answer> {
    const { method, body } = request;
    const headers = { ...request.headers, 'user-agent': USER_AGENT };
    return await fetched(url, {
      method,
      headers,
      body,
      redirect: 'manual',
      agent: upstream.agent,
      signal,
      timeout: ANSWER_MS,
    });
  }

  /** What is kept by its checksum, from the beginning. */
  async stream(integrity: string): Promise<NodeJS.ReadableStream> {
    const { default: cacache } = await import('cacache');
    return cacache.get.stream.byDigest(this.files, integrity);
  }

  noteAway({ host, port }: Target): void {
    if (this.away.size > 1_000) this.away.clear();
    this.away.set(`${host}:${port}`, Date.now() + AWAY_MS);
  }

  noteWritten(bytes: number): void {
    this.written += bytes;
    if (this.written > this.bytes * SWEEP_PART) void this.sweep();
  }

  /** Removes what was not used for longest until the rest has its size. Never rejects. */
  sweep(): Promise<void> {
    this.written = 0;
    this.sweeping ??= sweepFolder(this.files, this.bytes)
      .catch((error: Error) =>
        this.log.warn({ error: error.message }, 'the cache of package registries could not be swept'),
      )
      .finally(() => {
        this.sweeping = null;
      });
    return this.sweeping;
  }

  private isAway({ hostname, port, protocol }: URL): boolean {
    return (this.away.get(`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`) ?? 0) > Date.now();
  }

  private async fresh(wanted: Wanted): Promise<Answer> {
    const answer = await fetched(wanted.url, this.options(wanted, 'default'));
    if (answer.from !== 'disk' || (await this.isThere(answer))) return answer;
    // its file was swept
    return await fetched(wanted.url, this.options(wanted, 'reload'));
  }

  private async kept(wanted: Wanted): Promise<Answer | null> {
    try {
      const answer = await fetched(wanted.url, this.options(wanted, 'only-if-cached'));
      return (await this.isThere(answer)) ? answer : null;
    } catch {
      return null;
    }
  }

  private async isThere({ status, header }: Answer): Promise<boolean> {
    // a redirect has no file
    if (status !== 200) return true;
    const { default: cacache } = await import('cacache');
    return (await cacache.get.hasContent(this.files, decodeURIComponent(header('x-local-cache-hash') ?? ''))) !== false;
  }

  private options({ method, accept, upstream, signal }: Wanted, cache: FetchOptions['cache']): FetchOptions {
    const headers = { 'user-agent': USER_AGENT, ...(accept !== undefined && { accept }) };
    return {
      method,
      headers,
      cachePath: this.files,
      cache,
      redirect: 'manual',
      agent: upstream.agent,
      signal,
      timeout: ANSWER_MS,
    };
  }
}

/** The cache of a host; null when the owner wants none. */
export const openRegistryCache = (
  config: Pick<Config, 'FETCH_HOME' | 'FETCH_REGISTRY_CACHE_MB'>,
  log: Logger,
): RegistryCache | null =>
  config.FETCH_REGISTRY_CACHE_MB === 0
    ? null
    : new RegistryCache({
        folder: join(config.FETCH_HOME, 'kennel', 'registries'),
        megabytes: config.FETCH_REGISTRY_CACHE_MB,
        log,
      });

/**
 * Some registries, mostly simple mirrors, say nothing of how long an answer holds, and have nothing to check it by. For
 * these HTTP leaves it to the cache (RFC 9111, section 4.2.2). A file of a package stays what it is under its name, so
 * it holds for a day.
 */
function isYoung({ header }: Answer, { pathname }: URL): boolean {
  if (SAYS_HOW_LONG.some((name) => header(name) !== null)) return false;
  const age = Date.now() - Date.parse(header('x-local-cache-time') ?? '');
  return age < (FILE.test(pathname) ? FILE_MS : INDEX_MS);
}
const SAYS_HOW_LONG = ['cache-control', 'expires', 'pragma', 'etag', 'last-modified'];
const FILE = /\.(?:tgz|tar\.gz|whl|crate|zip|jar|mod)$/;
const FILE_MS = DAY;
const INDEX_MS = 5 * MINUTE;

export const isBlocked = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === BLOCKED;

/** Both packages take 30 MB, which a host whose tasks load nothing does without. */
async function fetched(url: URL, options: FetchOptions): Promise<Answer> {
  const { default: fetch } = await import('make-fetch-happen');
  return answerOf(await fetch(url.href, options));
}

function answerOf({ status, headers, body }: Fetched): Answer {
  // a body that fails without a listener would end this process
  body?.on('error', () => {});
  const how = headers.get('x-local-cache-status') ?? 'skip';
  const from = how === 'skip' ? 'registry' : how === 'miss' || how === 'updated' ? 'both' : 'disk';
  return { status, header: (name) => headers.get(name), body, from };
}
