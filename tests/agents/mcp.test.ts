import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelAgentName } from '../../kennel/agents/registry.ts';
import { openSocketFolder } from '../../src/adapters/kennel/gate/socket.ts';
import { serveAgents } from '../../src/adapters/mcp/agent-servers.ts';
import { loadConfig } from '../../src/config.ts';
import { startTestDatabase, type TestDatabase } from '../support/database.ts';
import { NO_DOCKER, requireDocker, startTestKennel, type TestKennel } from '../support/docker.ts';
import { agreeTo } from '../support/mcp/agree.ts';
import { startMcpServer, type TestMcpServer } from '../support/mcp/server.ts';
import { AgentRun } from '../support/providers/agent-run.ts';
import { LIMIT } from '../support/providers/scenarios.ts';
import { script } from '../support/providers/script.ts';
import { newThread } from '../support/thread.ts';

/** Each real CLI in its container calls a tool of an MCP server of the owner, whose key stays outside. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KEY = 'never-inside-0123456789';
let at: TestKennel;
let database: TestDatabase;
let server: TestMcpServer;
let home: string;
let threadId: string;

describe.skipIf(NO_DOCKER)('an MCP server of the owner', () => {
  beforeAll(async () => {
    await requireDocker('claude', 'codex', 'gemini', 'copilot', 'opencode');
    at = await startTestKennel({ FETCH_KENNEL_MEMORY_MB: '3072', FETCH_KENNEL_SLOTS: '8' });
    database = await startTestDatabase();
    server = await startMcpServer();
    home = mkdtempSync(join(tmpdir(), 'fetch-mcp-'));
    ({ threadId } = await newThread(database.store.db));
  }, 900_000);
  afterAll(async () => {
    await at?.close();
    await database?.close();
    await server?.close();
    rmSync(home, { recursive: true, force: true });
  });

  const used = async (agent: ModelAgentName, model: string | null): Promise<void> => {
    const run = await AgentRun.open(at, agent, { model, mcp: ['news'] });
    const over = new AbortController();
    const read: string[] = [];
    const deps = {
      db: database.store.db,
      config: loadConfig({ FETCH_HOME: home }, {}),
      kennel: at.kennel,
      threadId,
      log: pino({ level: 'silent' }),
    };
    const http = serveAgents(
      { ...deps, admit: async () => null, read: async (name) => void read.push(name) },
      over.signal,
    );
    const sockets = openSocketFolder(join(run.folder, 'gate'));
    try {
      await sockets.listen(http, 'mcp.sock');
      const text = `hello from ${agent}`;
      await run.begin(script({ do: [['echo', { text }]] }, { say: 'Done: $LAST' }));
      expect(await run.ended(LIMIT)).toMatchObject({ outcome: 'completed' });
      expect(run.said()).toMatch(new RegExp(`Done: [\\s\\S]*${text}`));
      expect(read).toEqual(['news']);
      expect(JSON.stringify(run.lines())).not.toContain(KEY);
    } finally {
      over.abort();
      http.close();
      http.closeAllConnections();
      sockets.close();
      await run.close();
    }
  };
  const configure = async (news: object): Promise<void> => {
    writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { news } }));
    await agreeTo(database.store.db, 'news', news, at.kennel);
  };

  it.each([
    ['claude', null],
    ['codex', 'scripted'],
    ['gemini', 'gemini-2.5-pro'],
    ['copilot', 'scripted'],
    ['opencode', 'scripted'],
  ] as const)(
    'over HTTP is used by %s',
    async (agent, model) => {
      await configure({
        url: server.url,
        headers: { 'X-Key': KEY },
        agents: true,
        tools: { echo: { danger: 'SAFE' } },
      });
      await used(agent, model);
      expect(server.calls.filter(({ args }) => args.text === `hello from ${agent}`)).toHaveLength(1);
      expect(server.headers.at(-1)).toMatchObject({ 'x-key': KEY });
    },
    LIMIT,
  );

  it(
    'over stdio is used by claude, and runs in a container of its own',
    async () => {
      const stdio = { command: 'node', args: ['tests/support/mcp/stdio-server.ts'], cwd: ROOT, env: { KEY } };
      await configure({ ...stdio, agents: true, tools: { echo: { danger: 'SAFE' } } });
      await used('claude', null);
    },
    LIMIT,
  );
});
