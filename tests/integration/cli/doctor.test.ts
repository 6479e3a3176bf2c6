import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { factsAddress } from '../../../src/adapters/model/endpoint/facts.ts';
import { diagnose } from '../../../src/cli/checks/doctor.ts';
import type { Finding } from '../../../src/cli/checks/finding.ts';
import { serverFindings } from '../../../src/cli/checks/server/server.ts';
import { prepareServers } from '../../../src/cli/roles/prepare.ts';
import { loadConfig } from '../../../src/config.ts';
import { factsIn } from '../../../src/store/turns/steps/model-facts.ts';
import { freePorts, startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
let folder: string;
let connection: Connection;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-doctor-'));
  app = await startTestApp();
  connection = await Connection.connect({ address: app.temporalAddress });
});
afterAll(async () => {
  await connection?.close();
  await app?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** As on a server: both servers run elsewhere, and nothing of the instance lies in this home. */
const configOf = (settings: Record<string, string> = {}) =>
  loadConfig(
    { FETCH_HOME: folder, TEMPORAL_ADDRESS: app.temporalAddress, DATABASE_URL: app.databaseUrl, ...settings },
    {},
  );

const named = (findings: Finding[], name: string): Finding => {
  const found = findings.find((each) => each.name === name);
  if (!found) throw new Error(`${name} is not among ${findings.map((each) => each.name).join(', ')}`);
  return found;
};

it('finds nothing wrong with roles and servers that work, and takes the ports of the API for those of its role', async () => {
  const { FETCH_RUNTIME_PORT, FETCH_STATUS_PORT } = app.settings;
  const config = configOf({ FETCH_RUNTIME_PORT: FETCH_RUNTIME_PORT!, FETCH_STATUS_PORT: FETCH_STATUS_PORT! });
  const findings = await until('every role has left a trace', async () => {
    const found = await serverFindings(config);
    return found.every(({ state }) => state === 'ok') && found;
  });
  expect(findings.map(({ name }) => name)).toEqual([
    ...['database', 'schema', 'namespace', 'search attributes'],
    ...['role worker', 'role gateway', 'role api', 'role kennel'],
    ...['queue agent', 'queue agent', 'queue background', 'queue background', expect.stringMatching(/^queue kennel-/)],
  ]);
  const all = await diagnose(config);
  expect(named(all, 'postgres').version).toMatch(/^\d+/);
  expect(named(all, 'temporal').version).toMatch(/^1\./);
  expect(named(all, `port ${FETCH_RUNTIME_PORT}`)).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('this instance'),
  });
});

it('says which role is missing, that nobody asks a queue, and how soon the server forgets closed conversations', async () => {
  const namespace = 'lonely';
  const day = msToTs(24 * 3600 * 1000);
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: day });
  await sql`create database lonely`.execute(app.store.db);
  const url = new URL(app.databaseUrl);
  url.pathname = '/lonely';
  const [port] = await freePorts(1);
  const config = configOf({ TEMPORAL_NAMESPACE: namespace, DATABASE_URL: url.href, FETCH_RUNTIME_PORT: String(port) });

  const before = await until('the namespace is known', async () => {
    const found = await serverFindings(config);
    return found.some(({ name }) => name === 'search attributes') && found;
  });
  expect(named(before, 'schema')).toMatchObject({ state: 'missing', mend: 'fetch prepare' });
  expect(named(before, 'search attributes')).toMatchObject({
    state: 'missing',
    mend: 'fetch prepare',
    detail: expect.stringContaining('AgentPhase'),
  });
  expect(named(before, 'namespace')).toMatchObject({
    state: 'warning',
    detail: expect.stringContaining('24 hours only'),
  });
  expect(named(before, 'namespace').mend).toContain('--retention 720h');
  expect(before.filter(({ name }) => name.startsWith('role'))).toEqual([]);

  await prepareServers(config);
  const prepared = await until('the search attributes are known', async () => {
    const found = await serverFindings(config);
    return named(found, 'search attributes').state === 'ok' && found;
  });
  expect(named(prepared, 'schema').state).toBe('ok');
  expect(named(prepared, 'namespace').state).toBe('ok');
  expect(named(prepared, 'role worker')).toMatchObject({ state: 'missing', mend: 'fetch worker' });
  expect(named(prepared, 'role gateway')).toMatchObject({ state: 'missing', mend: 'fetch gateway' });
  expect(named(prepared, 'role api').state).toBe('warning');
  expect(named(prepared, 'role kennel').state).toBe('warning');
  expect(named(prepared, 'queue agent')).toMatchObject({ state: 'missing', mend: 'start a worker: fetch worker' });
});

it('counts the work that waits while nobody asks for it', async () => {
  const client = new Client({ connection, namespace: 'lonely' });
  await client.workflow.start('nobody', { taskQueue: 'agent', workflowId: 'waits' });
  const [port] = await freePorts(1);
  const url = new URL(app.databaseUrl);
  url.pathname = '/lonely';
  const config = configOf({ TEMPORAL_NAMESPACE: 'lonely', DATABASE_URL: url.href, FETCH_RUNTIME_PORT: String(port) });
  await until(
    'the task is counted',
    async () => /workflow tasks: 1 wait/.test(named(await serverFindings(config), 'queue agent').detail),
    30_000,
  );
});

it('says that a namespace or a server is missing, and what to do', async () => {
  expect(named(await serverFindings(configOf({ TEMPORAL_NAMESPACE: 'nowhere' })), 'namespace')).toMatchObject({
    state: 'missing',
    mend: 'fetch prepare',
  });
  const [port] = await freePorts(1);
  const all = await diagnose(
    configOf({ TEMPORAL_ADDRESS: `127.0.0.1:${port}`, DATABASE_URL: `postgres://fetch@127.0.0.1:${port}/fetch` }),
  );
  expect(named(all, 'temporal')).toMatchObject({ state: 'missing', mend: expect.stringContaining('TEMPORAL_ADDRESS') });
  expect(named(all, 'postgres')).toMatchObject({
    state: 'missing',
    mend: expect.stringContaining('DATABASE_URL'),
    detail: expect.stringMatching(/\w/),
  });
});

it('shows what turns have learned of the model, which its own request does not meet', async () => {
  const { OPENAI_BASE_URL, OPENAI_API_KEY, AGENT_MODEL } = app.settings;
  await factsIn(app.store.db).add(factsAddress(OPENAI_BASE_URL!), AGENT_MODEL!, { maxTools: 64 });
  const config = configOf({
    OPENAI_BASE_URL: OPENAI_BASE_URL!,
    OPENAI_API_KEY: OPENAI_API_KEY!,
    AGENT_MODEL: AGENT_MODEL!,
  });
  expect(named(await diagnose(config), 'model').detail).toContain('at most 64 tools');
});
