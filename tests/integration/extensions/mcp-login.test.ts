import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { addressOf, answerOf, fetchCommand } from '../../support/mcp/login-command.ts';
import { type OAuthMcpServer, startOAuthServer } from '../../support/mcp/oauth-server.ts';

/** `fetch mcp login`, as a process of its own, at a server with the login of the SDK. */

let database: TestDatabase;
let server: OAuthMcpServer;
let home: string;
const command = (...args: string[]) => fetchCommand(['mcp', ...args], home, database.url);
const begin = () => command('login', 's', '--no-browser');
const stored = () => database.store.db.selectFrom('mcp_logins').selectAll().execute();
const configure = (entry: object) =>
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { s: entry } }));
const login = async () => {
  const running = begin();
  expect(await (await fetch(await addressOf(running))).text()).toMatch(/The login is done/);
  expect(await running.ended()).toBe(0);
  return running;
};
const list = async () => {
  const listed = command('list');
  await listed.ended();
  return listed.output();
};

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database?.close());
beforeEach(async () => {
  server = await startOAuthServer();
  home = mkdtempSync(join(tmpdir(), 'fetch-mcp-'));
  configure({ url: server.url });
});
afterEach(async () => {
  await server.close();
  await database.store.db.deleteFrom('mcp_logins').execute();
  rmSync(home, { recursive: true, force: true });
});

it('logs in with a browser, and asks the server at once what it offers', async () => {
  const { output } = await login();
  expect(output()).toMatch(/You are logged in at s\.\n- MCP server s: waits for your yes/);
  expect(server.resources).toEqual([server.url]);
  const [row] = await stored();
  expect(row).toMatchObject({ server: 's', url: server.url, issuer: server.issuer, renewable: true, refused: null });
  for (const secret of server.secrets) {
    expect(output()).not.toContain(secret);
    expect(row!.sealed.includes(secret)).toBe(false);
  }
  expect(await list()).toBe(`s: ${server.url}, logged in at ${server.issuer}, renewed by itself\n`);
}, 60_000);

it('takes the address of the last page where the browser is on another machine', async () => {
  const running = begin();
  const address = await answerOf(await addressOf(running));
  running.child.stdin!.write('what?\n');
  running.child.stdin!.write(`${address}\n`);
  expect(await running.ended()).toBe(0);
  expect(running.output()).toMatch(/not the address of the last page[\s\S]*You are logged in at s\./);
}, 60_000);

it('takes no answer with another state, and goes on waiting for its own', async () => {
  const running = begin();
  const mine = new URL(await answerOf(await addressOf(running)));
  const other = new URL(mine);
  other.searchParams.set('state', 'of-somebody-else');
  const refused = await fetch(other);
  expect([refused.status, await refused.text()]).toEqual([400, 'This is not the answer to this login.\n']);
  expect(await stored()).toEqual([]);
  expect((await fetch(mine)).status).toBe(200);
  expect(await running.ended()).toBe(0);
}, 60_000);

it('ends with a sentence when the answer is of another authorization server, or a refusal', async () => {
  for (const [name, value, why] of [
    ['iss', 'https://other.example/', /answered by another authorization server than http/],
    ['error', 'access_denied', /refused the login: access_denied/],
  ] as const) {
    const running = begin();
    const answer = new URL(await answerOf(await addressOf(running)));
    answer.searchParams.set(name, value);
    await fetch(answer);
    expect(await running.ended()).toBe(1);
    expect(running.output()).toMatch(why);
    expect(running.output()).not.toMatch(/at .*\.ts:/);
  }
  expect(await stored()).toEqual([]);
}, 60_000);

it('leaves the login from before as it was when it is killed between the code and the database, and can be begun again', async () => {
  await login();
  const [before] = await stored();
  const killed = begin();
  server.beforeTokens = () => {
    killed.child.kill('SIGKILL');
  };
  await fetch(await addressOf(killed)).catch(() => {});
  await killed.ended();
  expect(await stored()).toEqual([before]);
  server.beforeTokens = null;
  expect(await list()).toContain('renewed by itself');
  await login();
  expect((await stored())[0]!.sealed.equals(before!.sealed)).toBe(false);
}, 60_000);

it('logs out, also at the authorization server', async () => {
  await login();
  const out = command('logout', 's');
  expect(await out.ended()).toBe(0);
  expect(out.output()).toBe('You are logged out of s.\n');
  expect(server.asked).toContain('POST /revoke');
  expect(await stored()).toEqual([]);
  expect(await list()).toBe(`s: ${server.url}, no login\n`);
}, 60_000);

it('uses the client of the configuration, with its fixed port, and registers none', async () => {
  await login();
  const registered = server.asked.filter((asked) => asked === 'POST /register').length;
  const running = begin();
  const client = new URL(await addressOf(running)).searchParams;
  running.child.kill();
  await running.ended();
  const redirectPort = Number(new URL(client.get('redirect_uri')!).port);
  configure({ url: server.url, oauth: { clientId: client.get('client_id'), redirectPort } });
  const { output } = await login();
  expect(new URL(/redirect_uri=([^&]+)/.exec(output())![1]!.replaceAll('%3A', ':').replaceAll('%2F', '/')).port).toBe(
    String(redirectPort),
  );
  expect(server.asked.filter((asked) => asked === 'POST /register')).toHaveLength(registered + 1);
}, 60_000);

it('says what to do about a server that has a header, a container or no entry', async () => {
  for (const [entry, why] of [
    [{ url: server.url, headers: { authorization: 'Bearer x' } }, /gets the Authorization header of mcp\.json/],
    [{ command: 'node' }, /runs in a container here, and has no login/],
    [{ url: 'ftp://x' }, /^s: /m],
  ] as const) {
    configure(entry);
    const running = begin();
    expect(await running.ended()).toBe(1);
    expect(running.output()).toMatch(why);
  }
}, 60_000);
