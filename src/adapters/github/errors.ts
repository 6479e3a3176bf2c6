import { RequestError } from '@octokit/request-error';
import { z } from 'zod';
import { inline } from '../../domain/text/foreign-text.ts';

/** GitHub's answers as sentences that say what to do. */

/** GitHub said no. */
export class GitHubRefusal extends Error {
  override readonly name = 'GitHubRefusal';
  /** HTTP status; null when the answer was not one of GitHub's API */
  readonly status: number | null;
  /** GitHub's own words */
  readonly reason: string;
  /** set when a limit of requests is the reason: when it opens, in ms since the epoch; null where GitHub does not say */
  readonly opensAt: number | null | undefined;

  constructor(message: string, status: number | null, reason = '', opensAt?: number | null) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.opensAt = opensAt;
  }
}

/** GitHub could not be reached or is out of order; a retry may help. */
export class GitHubAway extends Error {
  override readonly name = 'GitHubAway';
  /** the request may have had its effect */
  readonly unsure: boolean;

  constructor(message: string, unsure: boolean) {
    super(message);
    this.unsure = unsure;
  }
}

export const hasStatus = (error: unknown, ...statuses: number[]): error is GitHubRefusal =>
  error instanceof GitHubRefusal && error.status !== null && statuses.includes(error.status);

/** Errors of the connection after which the server cannot have read the request. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

interface Asked {
  host: string;
  /** it may change something */
  writes: boolean;
  /** a token was sent */
  token: boolean;
}

/** The error of a request as one of ours. */
export function explained(error: unknown, asked: Asked): Error {
  if (!(error instanceof RequestError)) return error as Error;
  const { response, status } = error;
  if (!response) {
    const cause = innermost(error);
    return new GitHubAway(
      `GitHub cannot be reached at ${asked.host}: ${cause.message || cause.code}.`,
      asked.writes && !NEVER_SENT.has(cause.code ?? ''),
    );
  }
  if (status >= 500) return new GitHubAway(`GitHub answered ${status}.`, asked.writes);
  const reason = reasonOf(response.data);
  const headers = response.headers as Headers;
  return new GitHubRefusal(
    sentence(status, reason, headers, asked),
    status,
    reason,
    isLimit(status, reason, headers) ? limitEnd(headers) : undefined,
  );
}

export const ARCHIVED =
  'The repository is archived on GitHub, so nothing in it can be changed. Unarchive it in its settings there, or work in a fork.';

type Headers = Record<string, string | undefined>;

function sentence(status: number, reason: string, headers: Headers, { host, token }: Asked): string {
  if (status === 401)
    return 'GitHub does not accept the token (401): it has expired or is not a token of this server. Put in a new one on my page, under Settings, All settings.';
  const limit = status === 403 || status === 429 ? limitSentence(status, reason, headers, token) : null;
  if (limit) return limit;
  if (status === 403 && /\barchived\b/i.test(reason)) return ARCHIVED;
  if (status === 403 || status === 404) {
    if (!token)
      return `${host} shows nothing there without a token (${status}): the repository does not exist, or is private. For a private one, put in a GitHub token that may read it on my page, under Settings, All settings.`;
    if (status === 404)
      return `GitHub knows no such thing (404), or the token may not see it. Check the name, and what the token may reach.`;
    const sso = /url=(https:\/\/[^\s;,]{1,300})/.exec(headers['x-github-sso'] ?? '')?.[1];
    if (sso)
      return `The organisation wants a single sign-on for the GitHub token (403). Authorise the token at ${sso}, then try again.`;
    const wanted = headers['x-accepted-github-permissions'];
    const needs = wanted
      ? `the permissions ${inline(wanted, 100)}`
      : 'the permissions Contents, Issues, Pull requests and Administration: read and write';
    return `The GitHub token may not do this (403: ${reason}). It needs the scope repo, or as a fine-grained token ${needs}.`;
  }
  if (status === 410) return `GitHub answered 410: ${reason}. The repository has this switched off.`;
  return `GitHub answered ${status}: ${reason}.`;
}

/** The hourly limit has its own header; the limit of requests in a row names seconds, or only says so. */
const isLimit = (status: number, reason: string, headers: Headers): boolean =>
  status === 429 ||
  (status === 403 &&
    (headers['x-ratelimit-remaining'] === '0' || Number(headers['retry-after']) > 0 || /rate limit/i.test(reason)));

/** When a limit opens, in ms since the epoch. */
function limitEnd(headers: Headers): number | null {
  const after = Number(headers['retry-after']);
  if (after > 0) return Date.now() + after * 1000;
  const reset = Number(headers['x-ratelimit-reset']);
  return headers['x-ratelimit-remaining'] === '0' && reset > 0 ? reset * 1000 : null;
}

function limitSentence(status: number, reason: string, headers: Headers, token: boolean): string | null {
  if (!isLimit(status, reason, headers)) return null;
  const spent = headers['x-ratelimit-remaining'] === '0';
  const after = Number(headers['retry-after']);
  const reset = Number(headers['x-ratelimit-reset']);
  const until =
    after > 0
      ? `: try again in ${after} s`
      : spent && reset > 0
        ? `, until ${new Date(reset * 1000).toISOString().slice(11, 16)} UTC`
        : '';
  return `GitHub accepts no more requests for now${until}.${token ? '' : ' Without a token it allows 60 an hour; with one 5,000.'}`;
}

const failure = z.object({
  message: z.string(),
  errors: z
    .array(
      z.union([
        z.string(),
        z.object({ message: z.string(), resource: z.string(), field: z.string(), code: z.string() }).partial(),
      ]),
    )
    .optional(),
});

/** The reason that GitHub gives, on one line. */
function reasonOf(data: unknown): string {
  const said = failure.safeParse(data).data;
  if (!said) return 'no reason given';
  const details = (said.errors ?? []).map((each) => {
    if (typeof each === 'string') return each;
    return each.message ?? [each.field ?? each.resource, each.code].filter(Boolean).join(' ');
  });
  return inline([said.message.replace(/\.$/, ''), ...details.filter(Boolean)].join('; '));
}

function innermost(error: Error): Error & { code?: string } {
  let inner: Error & { code?: string } = error;
  while (inner.cause instanceof Error) inner = inner.cause;
  return inner;
}
