import { createECDH, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendNotices } from '../../../src/api/owner/push/notices.ts';
import type { OwnerPush, PushMessage } from '../../../src/contracts/owner-push.ts';
import { askForTask } from '../../../src/store/kennel/questions/task-questions.ts';
import { storeLines } from '../../../src/store/kennel/tasks/task-log.ts';
import type { Task } from '../../../src/store/kennel/tasks/tasks.ts';
import { type OwnerApi, startOwnerApi } from '../../support/owner-api.ts';
import { until } from '../../support/until.ts';

/** Notices from the store to a push service, read as a browser reads them, and to ntfy. */

interface Decrypt {
  decrypt(body: Buffer, options: object): Buffer;
}
const ece = createRequire(import.meta.url)('http_ece') as Decrypt;

interface Received {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

let owner: OwnerApi;
let service: Server;
let address: string;
let stop: () => Promise<void>;
const received: Received[] = [];
/** paths that the service says are gone */
const gone = new Set<string>();

beforeAll(async () => {
  service = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      received.push({ method, path, headers, body: Buffer.concat(parts) });
      response.writeHead(gone.has(path) ? 410 : 201).end();
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  owner = await startOwnerApi();
  stop = sendNotices({ config: owner.api.config, store: owner.api.store });
}, 120_000);
afterAll(async () => {
  await stop?.();
  await owner?.close();
  await new Promise((resolve) => (service ? service.close(resolve) : resolve(null)));
});

/** A browser that wants notices. */
async function browser(name: string, wishes: { kinds?: string[]; quiet?: string | null } = {}) {
  const keys = createECDH('prime256v1');
  const publicKey = keys.generateKeys('base64url');
  const auth = randomBytes(16).toString('base64url');
  const endpoint = `${address}/${name}`;
  const { status } = await owner.ask('POST', '/v1/owner/push', {
    endpoint,
    keys: { p256dh: publicKey, auth },
    kinds: wishes.kinds ?? ['questions', 'approvals', 'failures', 'results'],
    quiet: wishes.quiet ?? null,
    time_zone: 'UTC',
    origin: 'https://fetch.example.com',
  });
  expect(status).toBe(200);
  const messages = (): PushMessage[] =>
    received
      .filter(({ path }) => path === `/${name}`)
      .map(({ body }) => {
        const text = ece.decrypt(body, { version: 'aes128gcm', privateKey: keys, authSecret: auth });
        return JSON.parse(text.toString()) as PushMessage;
      });
  return { endpoint, messages };
}

async function asks(task: Task, question: string): Promise<string> {
  const line = { type: 'question' as const, id: 'which', question, options: ['red', 'blue'] };
  await storeLines(owner.api.store.db, task, [{ seq: 1, step: 1, at: new Date().toISOString(), ...line }]);
  await askForTask(owner.api.store.db, task, line.id);
  const { id } = await owner.api.store.db
    .selectFrom('questions')
    .select('id')
    .where('task_id', '=', task.id)
    .where('state', '=', 'open')
    .executeTakeFirstOrThrow();
  return id;
}
const answered = (id: string) =>
  owner.api.store.db.updateTable('questions').set({ state: 'answered' }).where('id', '=', id).execute();

describe('a notice', () => {
  it('carries the question to a browser, opens there, and is taken back when it was answered elsewhere', async () => {
    const { messages, endpoint } = await browser('phone');
    const { public_key: key } = await owner.get<OwnerPush>('/v1/owner/push');
    expect(Buffer.from(key, 'base64url')).toHaveLength(65);
    const id = await asks(await owner.task('paint it'), 'Which colour?');
    const [told] = await until('the phone is told', () => (messages().length > 0 ? messages() : undefined));
    expect(told).toMatchObject({ body: 'Which colour?', tag: `question/${id}`, url: `/#/now/${id}` });
    await answered(id);
    const all = await until('it is taken back', () => (messages().length > 1 ? messages() : undefined));
    expect(all).toEqual([told, { close: `question/${id}` }]);
    expect(received.find(({ path }) => path === '/phone')!.headers.authorization).toMatch(/^vapid t=/);
    await owner.ask('DELETE', `/v1/owner/push?endpoint=${encodeURIComponent(endpoint)}`);
    expect((await owner.get<OwnerPush>(`/v1/owner/push?endpoint=${encodeURIComponent(endpoint)}`)).device).toBeNull();
  });

  it('is about what the person wishes, and waits in quiet hours', async () => {
    const [failures, quiet] = await Promise.all([
      browser('failures', { kinds: ['failures'] }),
      browser('quiet', { quiet: '00:00-23:59' }),
    ]);
    const task = await owner.task('break it');
    const id = await asks(task, 'Really?');
    await answered(id);
    await owner.api.store.db
      .updateTable('tasks')
      .set({ state: 'failed', reason: 'no', ended_at: new Date() })
      .where('id', '=', task.id)
      .execute();
    const [told] = await until('the failure is told', () =>
      failures.messages().length > 0 ? failures.messages() : undefined,
    );
    expect(failures.messages()).toHaveLength(1);
    expect(told).toMatchObject({ title: 'That did not work', url: `/#/tasks/${task.id}` });
    expect(quiet.messages()).toEqual([]);
    const waiting = await owner.api.store.db
      .selectFrom('push_sends')
      .select('due_at')
      .where('key', '=', `task/${task.id}`)
      .orderBy('due_at', 'desc')
      .executeTakeFirstOrThrow();
    expect(waiting.due_at.getTime()).toBeGreaterThan(Date.now());
  });

  it('is not sent any more to a browser that took its permission back', async () => {
    const { endpoint, messages } = await browser('gone');
    gone.add('/gone');
    const id = await asks(await owner.task('once'), 'Once?');
    await until('it was tried', () => messages().length > 0);
    const found = () => owner.get<OwnerPush>(`/v1/owner/push?endpoint=${encodeURIComponent(endpoint)}`);
    await until('the browser is forgotten', async () => (await found()).device === null);
    await answered(id);
  });

  it('goes to a topic of ntfy that one setting names, and is deleted there', async () => {
    Object.assign(owner.api.config, { FETCH_NTFY_URL: `${address}/topic` });
    await until('the topic is known', async () => (await owner.get<OwnerPush>('/v1/owner/push')).ntfy !== null);
    const id = await asks(await owner.task('again'), 'Grün oder blau?');
    const told = await until('ntfy is told', () =>
      received.find(({ path, body }) => path === '/' && body.includes('Grün')),
    );
    expect(JSON.parse(told.body.toString())).toMatchObject({
      topic: 'topic',
      message: 'Grün oder blau?',
      sequence_id: `question-${id}`,
      click: expect.stringContaining(`/#/now/${id}`),
    });
    await answered(id);
    await until('it is deleted', () =>
      received.find(({ method, path }) => method === 'DELETE' && path === `/topic/question-${id}`),
    );
    Object.assign(owner.api.config, { FETCH_NTFY_URL: undefined });
    await until('it ends with the setting', async () => (await owner.get<OwnerPush>('/v1/owner/push')).ntfy === null);
  });

  it('is refused for an address that no push service has', async () => {
    const request = {
      keys: { p256dh: 'x', auth: 'y' },
      kinds: [],
      quiet: null,
      time_zone: 'UTC',
      origin: 'https://x.y',
    };
    for (const wrong of ['http://push.example.com/a', 'file:///etc/passwd', 'no address'])
      expect((await owner.ask('POST', '/v1/owner/push', { endpoint: wrong, ...request })).status).toBe(400);
  });
});
