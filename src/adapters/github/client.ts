import { createHash } from 'node:crypto';
import { Octokit } from '@octokit/core';
import { RequestError } from '@octokit/request-error';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { english } from '../../domain/texts/say.ts';
import { explained, GitHubRefusal } from './errors.ts';

/** The one way to ask GitHub's REST API. */

const TIMEOUT_MS = 30_000;

export interface GitHubAccess {
  /** without one, GitHub shows what is public */
  token?: string | undefined;
  apiUrl: string;
  signal: AbortSignal;
}

interface KeptAnswer {
  etag: string;
  data: unknown;
  /** about the characters of the answer */
  size: number;
}

/** Answers by token and address. GitHub does not count a request whose answer has not changed since. */
const answers = new LRUCache<string, KeptAnswer>({
  max: 300,
  maxSize: 20_000_000,
  sizeCalculation: ({ size }) => size,
});

/**
 * Asks `GET /repos/{owner}/{repo}` and the like. Refusals and failures are thrown as `GitHubRefusal` and `GitHubAway`.
 */
export async function ask<T>(
  { token, apiUrl, signal }: GitHubAccess,
  route: `${'GET' | 'POST' | 'PUT'} /${string}`,
  parameters: Record<string, unknown>,
  schema: z.ZodType<T>,
): Promise<T> {
  const baseUrl = apiUrl.replace(/(?<!\/)\/+$/, '');
  const { host } = new URL(baseUrl);
  const octokit = new Octokit({ baseUrl, userAgent: 'fetch-durable', log: QUIET, ...(token && { auth: token }) });
  const options = {
    ...parameters,
    headers: { 'x-github-api-version': '2022-11-28' },
    request: { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) },
  };
  let data: unknown;
  try {
    data = route.startsWith('GET ')
      ? await askAgain(octokit, token, route, options)
      : (await octokit.request(route, options)).data;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw explained(error, { host, writes: !route.startsWith('GET '), token: token !== undefined });
  }
  const parsed = schema.safeParse(data);
  if (!parsed.success) throw new GitHubRefusal(english('github.odd', { host }), null);
  return parsed.data;
}

/** Sends the tag of the answer that is kept, so that an unchanged one is not sent again. */
async function askAgain(
  octokit: Octokit,
  token: string | undefined,
  route: string,
  options: { headers: Record<string, string>; request: object },
): Promise<unknown> {
  const key = createHash('sha256')
    .update(`${token ?? ''}\n${octokit.request.endpoint(route, options).url}`)
    .digest('hex');
  const kept = answers.get(key);
  try {
    const { data, headers } = await octokit.request(
      route,
      kept ? { ...options, headers: { ...options.headers, 'if-none-match': kept.etag } } : options,
    );
    if (headers.etag) answers.set(key, { etag: headers.etag, data, size: sizeOf(data) });
    return data;
  } catch (error) {
    if (kept && error instanceof RequestError && error.status === 304) return kept.data;
    throw error;
  }
}

/** octokit reads numbers that are too large for JavaScript as BigInt, which JSON does not have. */
const sizeOf = (data: unknown): number =>
  (JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? `${value}` : value)) ?? '').length + 1;

/** A deprecation of GitHub's is for developers, and must not get into somebody's terminal. */
const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
