import { z } from 'zod';
import type { RepositoryName } from './remote.ts';

/** The few calls of GitHub's REST API that are used. */

const TIMEOUT_MS = 30_000;

export interface Repository extends RepositoryName {
  /** its page */
  htmlUrl: string;
  /** where to push to */
  cloneUrl: string;
  private: boolean;
}

/** GitHub said no; `message` says what to do. */
export class GitHubRefusal extends Error {
  override readonly name = 'GitHubRefusal';
}
/** GitHub could not be reached or is out of order; a retry may help. */
export class GitHubAway extends Error {
  override readonly name = 'GitHubAway';
}

export interface GitHub {
  /** the account of the token */
  login(): Promise<string>;
  /** null when the token may see no such repository; a renamed one is found under its new name */
  find(repository: RepositoryName): Promise<Repository | null>;
  /** null when the account already has a repository of this name */
  create(repository: { name: string; description: string; private: boolean }): Promise<Repository | null>;
  /** nothing was ever pushed to it */
  isEmpty(repository: RepositoryName): Promise<boolean>;
}

const repositorySchema = z.object({ name: z.string(), owner: z.object({ login: z.string() }), html_url: z.url(), clone_url: z.url(), private: z.boolean() });
const repositoryOf = (value: unknown): Repository => {
  const { name, owner, html_url, clone_url, private: hidden } = repositorySchema.parse(value);
  return { name, owner: owner.login, htmlUrl: html_url, cloneUrl: clone_url, private: hidden };
};

interface GitHubAccess {
  token: string;
  apiUrl: string;
  signal: AbortSignal;
}

interface Answer {
  status: number;
  value: unknown;
}

export function createGitHub(access: GitHubAccess): GitHub {
  return {
    login: async () => z.object({ login: z.string() }).parse(expect(await call(access, 'GET', '/user'), 200)).login,
    async find(repository) {
      const answer = await call(access, 'GET', pathOf(repository));
      return answer.status === 404 ? null : repositoryOf(expect(answer, 200));
    },
    async create({ name, description, private: hidden }) {
      const answer = await call(access, 'POST', '/user/repos', { name, description, private: hidden, auto_init: false });
      if (answer.status === 422 && /already exists/i.test(JSON.stringify(answer.value))) return null;
      return repositoryOf(expect(answer, 201));
    },
    async isEmpty(repository) {
      return z.array(z.unknown()).parse(expect(await call(access, 'GET', `${pathOf(repository)}/branches?per_page=1`), 200)).length === 0;
    },
  };
}

/** Asks GitHub. Returns what the caller decides about; throws for what no caller can help. */
async function call({ token, apiUrl, signal }: GitHubAccess, method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> {
  const base = apiUrl.replace(/(?<!\/)\/+$/, '');
  let response: Response;
  let text: string;
  try {
    response = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'fetch-durable',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    text = await response.text();
  } catch (error) {
    if (signal.aborted) throw error;
    const { message, cause } = error as Error & { cause?: Error };
    throw new GitHubAway(`GitHub cannot be reached at ${new URL(base).host}: ${cause?.message || message}.`);
  }
  const answer = { status: response.status, value: parsed(text) };
  throwIfRefused(answer, response.headers);
  return answer;
}

/** What says nothing about the request itself: the server, the token, the rate limit. */
function throwIfRefused({ status, value }: Answer, headers: Headers): void {
  if (status >= 500) throw new GitHubAway(`GitHub answered ${status}.`);
  if (status === 401) throw new GitHubRefusal('GitHub does not accept GH_TOKEN (401): it has expired or is not a token of this server.');
  if (status === 429 || (status === 403 && headers.get('x-ratelimit-remaining') === '0')) {
    const reset = Number(headers.get('x-ratelimit-reset'));
    throw new GitHubRefusal(`GitHub accepts no more requests for now${reset > 0 ? `, until ${new Date(reset * 1000).toISOString().slice(11, 16)} UTC` : ''}.`);
  }
  if (status === 403)
    throw new GitHubRefusal(
      `GH_TOKEN may not do this (403: ${said(value)}). It needs the scope repo, or as a fine-grained token the permissions Contents and Administration: read and write.`,
    );
}

const pathOf = ({ owner, name }: RepositoryName): string => `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;

function expect({ status, value }: Answer, wanted: number): unknown {
  if (status !== wanted) throw new GitHubRefusal(`GitHub answered ${status}: ${said(value)}.`);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The text of an error answer. */
function said(value: unknown): string {
  const answer = z.object({ message: z.string(), errors: z.array(z.object({ message: z.string() }).partial()).optional() }).safeParse(value).data;
  if (!answer) return 'no reason given';
  return [answer.message.replace(/\.$/, ''), ...(answer.errors ?? []).flatMap((each) => each.message ?? [])].join('; ').slice(0, 300);
}
