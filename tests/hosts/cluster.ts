import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { childEnvironment } from '../../src/config.ts';
import { readAccount, wish } from '../../src/store/whatsapp/account.ts';
import { seeded } from '../chaos/random.ts';
import { invite, type People } from '../chaos/whatsapp-people.ts';
import { type ApiCalls, apiCalls, requestAt } from '../support/api-calls.ts';
import { FETCH_SETTING } from '../support/app.ts';
import { startTestDatabase, type TestDatabase } from '../support/database.ts';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal.ts';
import { until } from '../support/until.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import { type Front, openFront } from './front.ts';
import { type Host, makeHost } from './host.ts';
import { type Link, openLink } from './link.ts';
import { type Network, requirePrograms } from './network.ts';

/** What a host reaches outside of itself, each by a way of its own. */
export const SERVERS = ['database', 'temporal', 'model', 'whatsapp'] as const;
export type Server = (typeof SERVERS)[number];
export type Links = Record<Server, Link>;

/** Two hosts with every role on each; PostgreSQL, Temporal, the model and WhatsApp are elsewhere. */
export interface Cluster extends ApiCalls {
  hosts: readonly [Host, Host];
  /** the ways of each host */
  links: readonly [Links, Links];
  front: Front;
  database: TestDatabase;
  temporal: TestTemporal;
  model: ScriptedModel;
  fixture: WhatsAppFixture;
  people: People;
  /** sends a message that asks nothing, and waits for its answer; ms */
  probe(): Promise<number>;
  close(): Promise<void>;
}

/** In namespaces of their own, so they are in nobody's way. */
const PORTS = { runtime: 17_878, status: 18_765 };
/** Folder in which the logs of the hosts are left. */
const KEEP = process.env.FETCH_TEST_KEEP;
/** Longest wait of one request before the client comes again. */
const REQUEST_MS = 10_000;

/** `clock`: the clocks of the hosts can be shifted. */
export async function startCluster({
  seed,
  clock = false,
  env = {},
}: {
  seed: number;
  clock?: boolean;
  env?: Record<string, string>;
}): Promise<Cluster> {
  requirePrograms();
  const [temporal, database, model, fixture] = await Promise.all([
    startTestTemporal(),
    startTestDatabase(6, ['max_connections=200']),
    startScriptedModel(),
    startWhatsAppFixture(),
  ]);
  const people = invite(fixture);
  const targets: Record<Server, number> = {
    database: Number(new URL(database.url).port),
    temporal: Number(temporal.address.split(':')[1]),
    model: Number(new URL(model.baseUrl).port),
    whatsapp: Number(new URL(fixture.url).port),
  };
  const links: Links[] = [];
  const hosts: Host[] = [];
  const clean = Object.fromEntries(
    Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
  );

  const environment = async ({ outside }: Network): Promise<Record<string, string>> => {
    const random = seeded(seed + links.length);
    const own = Object.fromEntries(
      await Promise.all(SERVERS.map(async (server) => [server, await openLink(outside, targets[server], random)])),
    ) as Links;
    links.push(own);
    const at = (url: string, { port }: Link): string =>
      Object.assign(new URL(url), { host: `${outside}:${port}` }).href;
    return {
      ...clean,
      ...fixture.env,
      WA_WEB_SOCKET_URL: at(fixture.url, own.whatsapp),
      TEMPORAL_ADDRESS: `${outside}:${own.temporal.port}`,
      DATABASE_URL: at(database.url, own.database),
      OPENAI_BASE_URL: at(model.baseUrl, own.model),
      OPENAI_API_KEY: 'test-key',
      AGENT_MODEL: 'scripted',
      FETCH_HOST: '0.0.0.0',
      FETCH_RUNTIME_PORT: String(PORTS.runtime),
      FETCH_STATUS_PORT: String(PORTS.status),
      FETCH_RUNTIME_TOKEN: 'test-token',
      FETCH_ENCRYPTION_KEY: 'ab'.repeat(32),
      FETCH_ALLOW_PRIVATE_URLS: 'true',
      FETCH_READ_SECONDS: '0',
      FETCH_STOP_SECONDS: '5',
      FETCH_AUTONOMY: 'autonomous',
      FETCH_KENNEL_MEMORY_MB: '512',
      WHATSAPP_PACE_MS: '0',
      WHATSAPP_NUMBER: 'dedicated',
      WHATSAPP_RATE_LIMIT: '100000',
      TRUSTED_PHONE_NUMBERS: people.numbers.join(','),
      GIT_CONFIG_GLOBAL: '/dev/null',
      ...env,
    };
  };
  let front: Front | undefined;
  const close = async (): Promise<void> => {
    await front?.close();
    // for a person who looks into a finding
    if (KEEP) for (const host of hosts) writeFileSync(join(KEEP, `${host.name}.log`), host.log());
    for (const host of hosts) await host.remove();
    await Promise.all(links.flatMap((own) => Object.values(own).map((link) => link.close())));
    await Promise.all([database.close(), temporal.close(), model.close(), fixture.close()]);
  };
  try {
    for (const [number, name] of ['one', 'two'].entries())
      hosts.push(await makeHost({ number, name, clock, environment }));
    for (const host of hosts) host.start();
    await Promise.all(hosts.map((host) => host.ready()));
    front = await openFront(hosts.map(({ network }) => `http://${network.own}:${PORTS.runtime}`));
    const { url } = front;
    const calls = apiCalls((...call) => withLimit(requestAt(url, ...call)));
    await until('an API answers', () => calls.request('GET', '/health').then(({ status }) => status === 200));
    await link(database, fixture);
    const free: string[] = [];
    const probe = async (): Promise<number> => {
      const begun = Date.now();
      const key = randomUUID();
      const thread = free.pop() ?? (await until('a thread', () => calls.thread()));
      const turn = await until('a probe is taken', () => calls.turn(thread, [{ say: 'here' }], key), 120_000);
      await calls.ended(thread, turn, 120_000);
      free.push(thread);
      return Date.now() - begun;
    };
    return {
      ...calls,
      hosts: hosts as never,
      links: links as never,
      front,
      database,
      temporal,
      model,
      fixture,
      people,
      probe,
      close,
    };
  } catch (error) {
    for (const host of hosts) (error as Error).message += `\n${host.name}: ${host.log().slice(-3_000)}`;
    await close();
    throw error;
  }
}

/** A host that is cut off answers nothing, and closes nothing. */
const withLimit = <T>(request: Promise<T>): Promise<T> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), REQUEST_MS);
  return Promise.race([request, late.promise]).finally(() => clearTimeout(timer));
};

async function link({ store: { db } }: TestDatabase, fixture: WhatsAppFixture): Promise<void> {
  await wish(db, 'default', { wanted: 'on' });
  const qr = await until('a QR is shown', async () => (await readAccount(db, 'default'))?.qr, 60_000);
  await fixture.phone.scan(qr);
  await until(
    'WhatsApp is connected',
    async () => (await readAccount(db, 'default'))?.state === 'authenticated',
    60_000,
  );
}
