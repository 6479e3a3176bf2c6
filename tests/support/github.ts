import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A GitHub of one's own: the few REST calls that are used, and git over HTTP with basic authentication (git's own server program). */
export interface TestGitHub {
  apiUrl: string;
  token: string;
  login: string;
  /** method and path of every request, in order */
  requests: string[];
  /** next answers of the API, instead of the usual ones */
  failures: Array<{ status: number; body?: unknown; headers?: Record<string, string> }>;
  /** bare repository on the disk */
  folder(name: string): string;
  make(name: string, options?: { private?: boolean }): void;
  close(): Promise<void>;
}

export async function startGitHub(): Promise<TestGitHub> {
  const root = mkdtempSync(join(tmpdir(), 'fetch-github-'));
  const [login, token] = ['ann', 'ghp_test_0123456789'];
  const repositories = new Map<string, { private: boolean; description: string }>();
  const requests: string[] = [];
  const failures: TestGitHub['failures'] = [];
  const folder = (name: string) => join(root, login, `${name}.git`);
  const make: TestGitHub['make'] = (name, options = {}) => {
    mkdirSync(folder(name), { recursive: true });
    execFileSync('git', ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', folder(name)]);
    execFileSync('git', ['-C', folder(name), 'config', 'http.receivepack', 'true']);
    repositories.set(name, { private: options.private ?? true, description: '' });
  };
  let base = '';
  const view = (name: string) => ({
    name,
    owner: { login },
    private: repositories.get(name)!.private,
    html_url: `${base}/${login}/${name}`,
    clone_url: `${base}/${login}/${name}.git`,
  });
  const answer = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
  async function api(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const failure = failures.shift();
    if (failure) return answer(response, failure.status, failure.body ?? { message: 'no' }, failure.headers);
    if (request.headers.authorization !== `Bearer ${token}`) return answer(response, 401, { message: 'Bad credentials' });
    const [, , first, owner, name, rest] = request.url!.split('?')[0]!.split('/');
    if (request.method === 'GET' && first === 'user') return answer(response, 200, { login });
    if (request.method === 'POST' && request.url === '/api/user/repos') {
      const body = JSON.parse(await textOf(request)) as { name: string; private: boolean; description: string };
      if (repositories.has(body.name))
        return answer(response, 422, { message: 'Repository creation failed.', errors: [{ message: 'name already exists on this account' }] });
      make(body.name, { private: body.private });
      repositories.get(body.name)!.description = body.description;
      return answer(response, 201, view(body.name));
    }
    if (first !== 'repos' || owner !== login || !name || !repositories.has(name)) return answer(response, 404, { message: 'Not Found' });
    if (rest === 'branches') {
      const heads = join(folder(name), 'refs/heads');
      return answer(response, 200, existsSync(heads) ? readdirSync(heads).map((branch) => ({ name: branch })) : []);
    }
    return answer(response, 200, view(name));
  }
  function git(request: IncomingMessage, response: ServerResponse): void {
    const given = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
    if (given !== `x-access-token:${token}`) return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
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
  return {
    apiUrl: `${base}/api`,
    token,
    login,
    requests,
    failures,
    folder,
    make,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => void server.close(() => done()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
