import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answerOf, emptyRecords, type Records } from './github-records.ts';

/**
 * A GitHub of one's own: the few REST calls that are used, and git over HTTP with basic authentication (git's own
 * server program).
 */
export interface TestGitHub {
  apiUrl: string;
  token: string;
  login: string;
  /** method and path of every request, in order */
  requests: string[];
  /** status of every answer of the API, in order */
  answered: number[];
  /**
   * next answers of the API, instead of the usual ones; `when` picks a later request by method and path, `drop` ends
   * the connection
   */
  failures: Array<{
    status: number;
    body?: unknown;
    headers?: Record<string, string>;
    when?: RegExp;
    after?: boolean;
    drop?: boolean;
  }>;
  /** pull requests, issues and runs of a repository */
  records(name: string): Records;
  /** what a search of repositories finds */
  found: unknown[];
  /** waits here before it answers a request that writes */
  hold: Promise<void>;
  /** bare repository on the disk */
  folder(name: string): string;
  make(name: string, options?: { private?: boolean; archived?: boolean }): void;
  close(): Promise<void>;
}

export async function startGitHub(): Promise<TestGitHub> {
  const root = mkdtempSync(join(tmpdir(), 'fetch-github-'));
  const [login, token] = ['ann', 'ghp_test_0123456789'];
  const repositories = new Map<string, { private: boolean; archived: boolean; description: string }>();
  const requests: string[] = [];
  const answered: number[] = [];
  const failures: TestGitHub['failures'] = [];
  const found: unknown[] = [];
  const kept = new Map<string, Records>();
  const records = (name: string): Records => {
    const own = kept.get(name) ?? emptyRecords();
    kept.set(name, own);
    return own;
  };
  const folder = (name: string) => join(root, login, `${name}.git`);
  const make: TestGitHub['make'] = (name, options = {}) => {
    mkdirSync(folder(name), { recursive: true });
    execFileSync('git', ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', folder(name)]);
    execFileSync('git', ['-C', folder(name), 'config', 'http.receivepack', 'true']);
    repositories.set(name, { private: options.private ?? true, archived: options.archived ?? false, description: '' });
  };
  let base = '';
  const view = (name: string) => ({
    name,
    owner: { login },
    private: repositories.get(name)!.private,
    archived: repositories.get(name)!.archived,
    default_branch: 'main',
    html_url: `${base}/${login}/${name}`,
    clone_url: `${base}/${login}/${name}.git`,
  });
  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ) => {
    const text = JSON.stringify(body);
    const etag = `"${createHash('sha256').update(text).digest('hex')}"`;
    const same = status === 200 && request.headers['if-none-match'] === etag;
    answered.push(same ? 304 : status);
    const tagged = status === 200 && { etag };
    if (same) response.writeHead(304, { ...tagged, ...headers }).end();
    else
      response
        .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...tagged, ...headers })
        .end(text);
  };
  async function api(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const planned = failures.findIndex(({ when }) => !when || when.test(`${request.method} ${request.url}`));
    const [failure] = planned < 0 ? [] : failures.splice(planned, 1);
    if (failure && !failure.after) {
      if (failure.drop) return void request.socket.destroy();
      return answer(request, response, failure.status, failure.body ?? { message: 'no' }, failure.headers);
    }
    const body = request.method === 'GET' ? {} : (JSON.parse(await textOf(request)) as Record<string, unknown>);
    const { status, body: text } = await result(request, body);
    if (request.method !== 'GET') await github.hold;
    // the request had its effect, and nobody learns of it
    if (failure) return void request.socket.destroy();
    answer(request, response, status, text);
  }
  async function result(
    request: IncomingMessage,
    body: Record<string, unknown>,
  ): Promise<{ status: number; body: unknown }> {
    const url = new URL(request.url!, 'http://github');
    const [, , first, owner, name, ...rest] = url.pathname.split('/');
    const known =
      request.headers.authorization === undefined
        ? false
        : /^(?:bearer|token) (.*)$/i.exec(request.headers.authorization)?.[1] === token;
    if (request.headers.authorization !== undefined && !known)
      return { status: 401, body: { message: 'Bad credentials' } };
    if (first === 'search') {
      const limit = Number(url.searchParams.get('per_page'));
      return { status: 200, body: { total_count: found.length, items: found.slice(0, limit) } };
    }
    const visible =
      first === 'repos' &&
      owner === login &&
      name !== undefined &&
      repositories.has(name) &&
      (known || !repositories.get(name)!.private);
    if (!known && !visible)
      return {
        status: first === 'repos' ? 404 : 401,
        body: { message: first === 'repos' ? 'Not Found' : 'Requires authentication' },
      };
    if (!known && request.method !== 'GET') return { status: 401, body: { message: 'Requires authentication' } };
    if (request.method === 'GET' && first === 'user') return { status: 200, body: { login } };
    if (request.method === 'POST' && url.pathname === '/api/user/repos') {
      const wanted = body as { name: string; private: boolean; description: string };
      if (repositories.has(wanted.name))
        return {
          status: 422,
          body: {
            message: 'Repository creation failed.',
            errors: [{ message: 'name already exists on this account' }],
          },
        };
      make(wanted.name, { private: wanted.private });
      repositories.get(wanted.name)!.description = wanted.description;
      return { status: 201, body: view(wanted.name) };
    }
    if (!visible) return { status: 404, body: { message: 'Not Found' } };
    if (rest.length === 1 && rest[0] === 'branches') {
      const heads = join(folder(name), 'refs/heads');
      return { status: 200, body: existsSync(heads) ? readdirSync(heads).map((branch) => ({ name: branch })) : [] };
    }
    if (rest.length === 0) return { status: 200, body: view(name) };
    const asked = {
      method: request.method!,
      path: rest.join('/'),
      query: url.searchParams,
      body,
      owner,
      name,
      base,
      folder: folder(name),
    };
    return answerOf(records(name), asked);
  }
  function git(request: IncomingMessage, response: ServerResponse): void {
    const given = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
    if (given !== `x-access-token:${token}`)
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    const [path, query = ''] = request.url!.split('?');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        HTTP_GIT_PROTOCOL: (request.headers['git-protocol'] as string | undefined) ?? '',
        REMOTE_USER: login,
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(backend.stdin).on('error', () => {});
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk));
    backend.on('close', () => {
      const all = Buffer.concat(chunks);
      const end = all.indexOf('\r\n\r\n');
      const headers = Object.fromEntries(
        all
          .subarray(0, Math.max(end, 0))
          .toString()
          .split('\r\n')
          .filter(Boolean)
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
      );
      const status = Number(headers.Status?.slice(0, 3) ?? (end < 0 ? 500 : 200));
      delete headers.Status;
      response.writeHead(status, headers).end(all.subarray(end + 4));
    });
  }
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (request.url!.startsWith('/api/')) void api(request, response);
    else git(request, response);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const github: TestGitHub = {
    apiUrl: `${base}/api`,
    token,
    login,
    requests,
    answered,
    failures,
    records,
    found,
    hold: Promise.resolve(),
    folder,
    make,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => void server.close(() => done()));
      rmSync(root, { recursive: true, force: true });
    },
  };
  return github;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
