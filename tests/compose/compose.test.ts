import { readFileSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { profileTests } from './profiles/profiles.ts';
import { ComposedServer, docker, ROLES, SERVICES, type Service, serverPorts } from './server.ts';
import { IMAGE, nextImage, provideImages } from './stand-ins.ts';

/** A server as its owner has it: docker-compose.yml, with the practice model. */
let server: ComposedServer;

beforeAll(async () => {
  const program = await provideImages();
  server = new ComposedServer(program, IMAGE, await serverPorts());
});
afterAll(() => server?.remove());

/** A call that is made again while the API, or what it needs, is away: the same key has one effect. */
const patiently = <T>(what: string, call: () => Promise<T>) => until(what, call, 120_000);

/** The blocks of commands below a heading of docs/server.md. As root `sudo` is not needed. */
function commandsOf(heading: string): string[] {
  const page = readFileSync(fileURLToPath(new URL('../../docs/server.md', import.meta.url)), 'utf8');
  const section = page.slice(page.indexOf(`\n## ${heading}\n`)).split(/\n## /)[1]!;
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, commands]) => commands!.replaceAll('sudo ', ''));
}

/** A thread with a question that waits. */
async function asked(): Promise<string> {
  const thread = await patiently('a thread', () => server.api.thread());
  const key = `ask-${thread}`;
  await patiently('the question is asked', () => server.api.say(thread, 'ask me about lunch', key));
  await until(
    'a question waits',
    async () => (await server.api.detail(thread)).pending_user_inputs.length === 1,
    60_000,
  );
  return thread;
}

/** Answers it, and expects one turn, which says once what was answered. */
async function answered(thread: string): Promise<void> {
  await patiently('the answer is taken', () => server.api.say(thread, '2', `answer-${thread}`));
  const { turns, items } = await until(
    'the turn has ended',
    async () => {
      const detail = await server.api.detail(thread);
      return detail.turns.every(({ status }) => status === 'completed') && detail;
    },
    120_000,
  );
  expect(turns).toHaveLength(1);
  expect(items.filter((item) => JSON.stringify(item).includes('You chose \\"Salad'))).toHaveLength(1);
}

test('comes up healthy from nothing, and answers', async () => {
  await server.up();
  for (const service of SERVICES) expect(await server.isHealthy(service), service).toBe(true);
  const thread = await asked();
  await answered(thread);
});

test('runs our roles as a user who is not root, on a file system that cannot be written, and only the kennel has the engine', async () => {
  for (const service of ROLES) {
    const [container] = await server.containers(service);
    const [facts] = JSON.parse(await docker('inspect', container!));
    expect(facts.Config.User, service).toBe('1000:1000');
    expect(facts.HostConfig, service).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], Privileged: false });
    expect(facts.HostConfig.Memory, service).toBeGreaterThan(0);
    expect(JSON.stringify(facts.Mounts).includes('docker.sock'), service).toBe(service === 'kennel');
    // a password must not be in what `docker inspect` shows
    expect(JSON.stringify(facts.Config.Env), service).not.toMatch(/postgres:\/\/|test-token/);
  }
  expect(Number(await docker('image', 'inspect', '--format', '{{.Size}}', IMAGE)) / 1e6).toBeLessThan(400);
});

test('every role shows its metrics inside of the network, where Prometheus looks for them', async () => {
  const targets = ['gateway:9464', 'worker:9465', 'api:9466', 'kennel:9467'];
  const read = `for (const at of ${JSON.stringify(targets)}) console.log((await (await fetch('http://' + at + '/metrics')).text()).length)`;
  const lengths = await server.compose('exec', '--no-TTY', 'api', 'node', '--input-type=module', '--eval', read);
  expect(
    lengths
      .split('\n')
      .map(Number)
      .filter((length) => length > 1_000),
  ).toHaveLength(ROLES.length);
});

describe('the services that profiles add', () => profileTests(() => server));

test('the kennel works in containers beside its own, on workspaces of the host', async () => {
  const thread = await patiently('a thread', () => server.api.thread());
  await server.api.say(thread, 'create workspace demo');
  await until('the workspace is there', () => server.readHome('workspaces/demo/.git/HEAD'), 300_000);
});

describe('a question waits through', () => {
  test.each(SERVICES)('a restart of %s', async (service: Service) => {
    const thread = await asked();
    await server.compose('restart', service);
    await answered(thread);
    await server.healthy(service);
  });

  test.each(SERVICES)('kill -9 of %s', async (service: Service) => {
    const thread = await asked();
    const [before] = await server.containers(service);
    await server.kill9(service);
    await answered(thread);
    await server.healthy(service);
    expect(await server.containers(service)).toEqual([before]);
    expect(await docker('inspect', '--format', '{{.RestartCount}}', before!)).toBe('1');
  });

  test('the death of two workers of three', async () => {
    await server.up('--scale', 'worker=3');
    expect(await server.containers('worker')).toHaveLength(3);
    const thread = await asked();
    const [, ...others] = await server.containers('worker');
    for (const each of others) await docker('stop', '--time', '0', each);
    await answered(thread);
    await server.up('--scale', 'worker=1');
  });

  test('`down` and `up`, with every chat', async () => {
    const before = await asked();
    const done = await asked();
    await answered(done);
    await server.compose('down');
    await server.up();
    await answered(before);
    expect((await server.api.detail(done)).turns).toHaveLength(1);
  });
});

test('an upgrade finds chats asleep and a task at work, and loses neither', async () => {
  const asleep = await asked();
  const { status, body } = await server.api.request('POST', '/v1/tasks', {
    prompt: 'wait 20; write notes.md hello',
    agent: 'practice',
    workspace: 'demo',
  });
  expect(status, JSON.stringify(body)).toBe(201);
  const { id } = body as { id: string };
  const task = async () =>
    (await server.api.request('GET', `/v1/tasks/${id}`)).body as { coding_task?: { state: string } };
  await until('the task is at work', async () => (await task()).coding_task?.state === 'running', 300_000);
  const before = await Promise.all(ROLES.map((role) => server.containers(role)));
  server.image = await nextImage();
  await server.up();
  const after = await Promise.all(ROLES.map((role) => server.containers(role)));
  for (const [at, role] of ROLES.entries()) expect(after[at], role).not.toEqual(before[at]);
  await until('the task is done', async () => (await task()).coding_task?.state === 'completed', 300_000);
  expect(server.readHome('workspaces/demo/notes.md')).toBe('hello\n');
  await answered(asleep);
});

test('a backup is restored on an empty machine, by the commands of docs/server.md', async () => {
  const asleep = await asked();
  const done = await asked();
  await answered(done);
  const [backup, restore] = commandsOf('Backup').map((commands) =>
    commands.replaceAll('/var/lib', dirname(server.home)).replaceAll(' fetch\n', ` ${basename(server.home)}\n`),
  );
  await server.shell(backup!);
  await server.compose('down', '--volumes');
  rmSync(server.home, { recursive: true });
  await server.shell(restore!);
  await answered(asleep);
  expect((await server.api.detail(done)).turns).toHaveLength(1);
});

test('a missing or unreadable setting ends a role with an error that says what to do', async () => {
  const run = (...args: string[]) =>
    docker('run', '--rm', '--network', 'none', ...args).then(String, (error: { stderr: string }) => error.stderr);
  expect(await run(IMAGE, 'worker')).toContain('DATABASE_URL: must be set for a single role');
  expect(await run('--env', 'DATABASE_URL_FILE=/run/secrets/none', IMAGE, 'worker')).toContain(
    'DATABASE_URL_FILE (environment): /run/secrets/none cannot be read (ENOENT). Put the secret there, readable for this user, or unset DATABASE_URL_FILE',
  );
});
