import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { connectTo } from '../../../src/adapters/mcp/configured.ts';
import { beginLogin } from '../../../src/adapters/mcp/oauth/login.ts';
import { sealLogin } from '../../../src/adapters/mcp/oauth/stored-login.ts';
import { McpError, NeedsLogin } from '../../../src/adapters/mcp/session.ts';
import { childEnvironment } from '../../../src/config.ts';
import { type ConfiguredServer, parseMcpConfig } from '../../../src/domain/extensions/mcp-config.ts';
import { storeLogin } from '../../../src/store/owner/mcp-logins.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { answerOf } from '../../support/mcp/login-command.ts';
import { type OAuthMcpServer, startOAuthServer } from '../../support/mcp/oauth-server.ts';

/** What becomes of a login after it was made: use, renewal, its end. */

let database: TestDatabase;
let server: OAuthMcpServer;
let config: { FETCH_HOME: string; FETCH_ENCRYPTION_KEY: undefined; FETCH_ALLOW_PRIVATE_URLS: boolean };
const redirect = 'http://127.0.0.1:7/callback';
const signal = () => AbortSignal.timeout(30_000);
const configured = (url = server.url, more: object = {}): ConfiguredServer =>
  parseMcpConfig(JSON.stringify({ mcpServers: { s: { url, ...more } } })).servers[0]!;
const refreshes = () => server.asked.filter((asked) => asked === 'POST /token refresh_token').length;

async function login(): Promise<void> {
  const begun = await beginLogin(configured(), { redirect, config });
  const answer = new URL(await answerOf(begun.address));
  await storeLogin(database.store.db, sealLogin(config, 's', await begun.finish(answer.searchParams)));
}

async function call(text: string, tool = 'echo', at = configured()): Promise<string> {
  const session = await connectTo(at, { logins: { db: database.store.db, config } }, signal());
  try {
    return (await session.call(tool, { text }, { signal: signal(), timeoutMs: 20_000 })).text;
  } finally {
    await session.close();
  }
}

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database?.close());
beforeEach(async () => {
  server = await startOAuthServer();
  config = {
    FETCH_HOME: mkdtempSync(join(tmpdir(), 'fetch-mcp-')),
    FETCH_ENCRYPTION_KEY: undefined,
    FETCH_ALLOW_PRIVATE_URLS: false,
  };
  writeFileSync(join(config.FETCH_HOME, 'encryption-key'), 'ab'.repeat(32));
});
afterEach(async () => {
  await server.close();
  await database.store.db.deleteFrom('mcp_logins').execute();
  rmSync(config.FETCH_HOME, { recursive: true, force: true });
});

it('is told as a need to log in before anybody has, and is used afterwards', async () => {
  await expect(call('hello')).rejects.toThrow(
    /^The MCP server s needs a login\. The owner runs this on the machine of Fetch: fetch mcp login s$/,
  );
  await login();
  expect(await call('hello')).toBe('hello');
  expect(refreshes()).toBe(0);
});

it('is renewed before its end, and where its server ends it before', async () => {
  server.lifetimeSeconds = 1;
  await login();
  const { expires_at } = await database.store.db
    .selectFrom('mcp_logins')
    .select('expires_at')
    .executeTakeFirstOrThrow();
  while (Date.now() < expires_at!.getTime()) await new Promise((then) => setImmediate(then));
  server.lifetimeSeconds = 3_600;
  expect(await call('one')).toBe('one');
  expect(refreshes()).toBe(1);
  server.expire();
  expect(await call('two')).toBe('two');
  expect(refreshes()).toBe(2);
  expect(server.resources).toEqual([server.url, server.url, server.url]);
});

it('is renewed once when ten calls of two processes notice its end at the same time', async () => {
  await login();
  const program = fileURLToPath(new URL('../../support/mcp/call-many.ts', import.meta.url));
  const children = Array.from({ length: 2 }, () =>
    spawn(process.execPath, [program, config.FETCH_HOME, database.url, server.url, '5'], {
      env: childEnvironment({}),
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  const readers = children.map(linesOf);
  for (const lines of readers) expect(await lines()).toBe('ready');
  server.expire();
  for (const child of children) child.stdin!.write('now\n');
  const said = await Promise.all(readers.map((lines) => lines()));
  expect(said.map((line) => JSON.parse(line))).toEqual(
    [0, 1].map(() => Array.from({ length: 5 }, (_, at) => `call ${at}`)),
  );
  expect(refreshes()).toBe(1);
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'close')));
}, 60_000);

it('is asked for once when its server refuses to renew it, and then only the owner is told', async () => {
  await login();
  server.forget();
  for (let at = 0; at < 3; at += 1) {
    const failure = await call('hello').catch((error: Error) => error);
    expect(failure).toBeInstanceOf(NeedsLogin);
    expect((failure as Error).message).toBe(
      'The MCP server s needs a login. Its server does not renew the one from before (invalid_grant). The owner runs this on the machine of Fetch: fetch mcp login s',
    );
  }
  expect(refreshes()).toBe(1);
  await login();
  expect(await call('again')).toBe('again');
});

it('stays where the authorization server is away for a moment', async () => {
  await login();
  server.expire();
  server.first = (request, response) => {
    if (request.url !== '/token') return false;
    response.writeHead(503).end('busy');
    return true;
  };
  await expect(call('hello')).rejects.toThrow(/cannot be renewed just now/);
  server.first = null;
  expect(await call('hello')).toBe('hello');
});

it('says so when a login does not reach for what is asked', async () => {
  await login();
  server.first = (request, response) => {
    if (request.url !== '/mcp') return false;
    response.writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' }).end();
    return true;
  };
  await expect(call('hello')).rejects.toThrow(
    /does not reach for this \(it wants the scope "write"\)\. The owner runs this .*fetch mcp login s/,
  );
});

it('is for one address: another one under the same name gets no token', async () => {
  await login();
  const other = await startOAuthServer();
  const seen: unknown[] = [];
  other.first = (request) => {
    seen.push(request.headers.authorization);
    return false;
  };
  await expect(call('hello', 'echo', configured(other.url))).rejects.toThrow(/needs a login/);
  expect(seen).toEqual([undefined]);
  await other.close();
});

it('cannot be read with another key, and says whose key is missing', async () => {
  await login();
  writeFileSync(join(config.FETCH_HOME, 'encryption-key'), 'cd'.repeat(32));
  await expect(call('hello')).rejects.toThrow(
    /The login at the MCP server s cannot be read\. This was encrypted with another key/,
  );
});

it('is hidden where a server repeats it', async () => {
  await login();
  const token = server.secrets.find((secret) => secret.startsWith('access-'))!;
  expect(await call(`I got Bearer ${token}.`)).toBe('I got Bearer [hidden].');
  server.first = (request, response) => {
    if (request.url !== '/mcp') return false;
    response.writeHead(500).end(`What is ${request.headers.authorization}?`);
    return true;
  };
  await expect(call('hello')).rejects.toThrow(/What is Bearer \[hidden\]\?/);
});

const METADATA = '/.well-known/oauth-authorization-server';
const RESOURCE = '/.well-known/oauth-protected-resource/mcp';
const metadata = (more: object) => ({
  issuer: server.issuer,
  authorization_endpoint: `${server.issuer}authorize`,
  token_endpoint: `${server.issuer}token`,
  registration_endpoint: `${server.issuer}register`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  ...more,
});
const resource = (more: object) => ({ resource: server.url, authorization_servers: [server.issuer], ...more });

it.each<[string, string, () => object | string, RegExp]>([
  [
    'a login on this machine',
    RESOURCE,
    () => resource({ authorization_servers: ['http://127.0.0.1:9/'] }),
    /leads to http:\/\/127\.0\.0\.1:9\/, which is not https/,
  ],
  [
    'a login in the cloud of this machine',
    RESOURCE,
    () => resource({ authorization_servers: ['https://169.254.169.254/'] }),
    /not on the public internet/,
  ],
  [
    'a name that leads to this machine',
    RESOURCE,
    () => resource({ authorization_servers: ['https://localhost:9/'] }),
    /not on the public internet/,
  ],
  [
    'a script as its login',
    RESOURCE,
    () => resource({ authorization_servers: ['javascript:alert(1)'] }),
    /does not describe its login|leads to/,
  ],
  [
    'a script as its login page',
    METADATA,
    () => metadata({ authorization_endpoint: 'javascript:alert(1)' }),
    /does not describe its login/,
  ],
  [
    'a file as its login page',
    METADATA,
    () => metadata({ authorization_endpoint: 'file:///etc/passwd' }),
    /which is not https/,
  ],
  [
    'a private place for tokens',
    METADATA,
    () => metadata({ token_endpoint: 'https://10.0.0.1/token' }),
    /not on the public internet/,
  ],
  [
    'a private place for clients',
    METADATA,
    () => metadata({ registration_endpoint: 'https://[::1]/register' }),
    /not on the public internet/,
  ],
  [
    'another issuer',
    METADATA,
    () => metadata({ issuer: 'https://bank.example/' }),
    /which says that it is https:\/\/bank\.example\//,
  ],
  ['another resource', RESOURCE, () => resource({ resource: 'https://bank.example/mcp' }), /does not match expected/],
  ['metadata of 5 MB', METADATA, () => metadata({ more: 'x'.repeat(5_000_000) }), /more than 1 MB/],
  ['no JSON', METADATA, () => '<html>', /does not describe its login as it should/],
])('begins no login when its server names %s', async (_, path, body, why) => {
  server.first = (request, response) => {
    if (request.url !== path) return false;
    const made = body();
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(typeof made === 'string' ? made : JSON.stringify(made));
    return true;
  };
  const failure = await beginLogin(configured(), { redirect, config }).catch((error: Error) => error);
  expect(failure).toBeInstanceOf(McpError);
  expect((failure as Error).message).toMatch(why);
  expect((failure as Error).message.length).toBeLessThan(900);
});

it('follows no redirect of a login to another place, where its code would go along', async () => {
  const other = await startOAuthServer();
  const elsewhere: string[] = [];
  other.first = (request) => {
    elsewhere.push(request.url ?? '');
    return false;
  };
  const begun = await beginLogin(configured(), { redirect, config });
  const answer = new URL(await answerOf(begun.address));
  server.first = (request, response) => {
    if (request.url !== '/token') return false;
    response.writeHead(307, { location: `${other.issuer}token` }).end();
    return true;
  };
  await expect(begun.finish(answer.searchParams)).rejects.toThrow(/gave no token/);
  expect(elsewhere).toEqual([]);
  await other.close();
});

it('may be at a private place that the owner names', async () => {
  const other = await startOAuthServer();
  server.first = (request, response) => {
    if (request.url !== RESOURCE) return false;
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(resource({ authorization_servers: [other.issuer] })));
    return true;
  };
  await expect(beginLogin(configured(), { redirect, config })).rejects.toThrow(
    /Name it as the issuer in mcp\.json if it is yours/,
  );
  const named = configured(server.url, { oauth: { issuer: other.issuer } });
  expect((await beginLogin(named, { redirect, config })).issuer).toBe(other.issuer);
  await other.close();
});

/** The lines that a process prints, one for each call. */
function linesOf(child: ChildProcess): () => Promise<string> {
  const lines: string[] = [];
  let rest = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop()!;
    lines.push(...parts);
    child.emit('lines');
  });
  return async () => {
    while (lines.length === 0) await once(child, 'lines');
    return lines.shift()!;
  };
}
