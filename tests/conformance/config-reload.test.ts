import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

/** POST /api/config/reload of the contract. */

let api: ApiStack;
let file: string;
const ADMIN = 'admin-reload';
beforeAll(async () => {
  api = await startApi({ token: 'tok-reload', adminToken: ADMIN, model: 'm', corsOrigins: '' });
  file = join(api.config.FETCH_HOME, '.env');
}, 120_000);
afterAll(() => api?.close());
beforeEach(async () => {
  rmSync(file, { force: true });
  await reload();
});

async function reload() {
  const { status, body } = await send(
    api.statusPort,
    'POST',
    '/api/config/reload',
    { Authorization: `Bearer ${ADMIN}` },
    null,
  );
  return { status, ...JSON.parse(body) };
}

it('reloads .env values and names the keys that changed', async () => {
  writeFileSync(file, 'WHATSAPP_RATE_LIMIT=7\nFETCH_TASK_HOURS=2\n');
  expect(await reload()).toEqual({
    status: 200,
    success: true,
    updatedKeys: ['FETCH_TASK_HOURS', 'WHATSAPP_RATE_LIMIT'].sort(
      (a, b) => Object.keys(api.config).indexOf(a) - Object.keys(api.config).indexOf(b),
    ),
    restartKeys: [],
    message: '2 key(s) updated',
  });
  expect([api.config.WHATSAPP_RATE_LIMIT, api.config.FETCH_TASK_HOURS]).toEqual([7, 2]);
  expect(await reload()).toMatchObject({ updatedKeys: [], message: '0 key(s) updated' });
});

it('is all or nothing, and names every problem', async () => {
  writeFileSync(file, 'WHATSAPP_RATE_LIMIT=9\nFETCH_TASK_HOURS=soon\nFETCH_TIME_ZONE=Mars/Base\n');
  const { status, success, message } = await reload();
  expect([status, success]).toEqual([400, false]);
  expect(message).toMatch(/FETCH_TASK_HOURS .*\n.*FETCH_TIME_ZONE|FETCH_TIME_ZONE .*\n.*FETCH_TASK_HOURS/);
  expect(api.config.WHATSAPP_RATE_LIMIT).toBe(30);
});

it('gives removed keys their defaults back', async () => {
  writeFileSync(file, 'WHATSAPP_RATE_LIMIT=7\n');
  await reload();
  writeFileSync(file, '# nothing\n');
  expect(await reload()).toMatchObject({ updatedKeys: ['WHATSAPP_RATE_LIMIT'] });
  expect(api.config.WHATSAPP_RATE_LIMIT).toBe(30);
});

it('names what needs a restart, and leaves it as it is', async () => {
  writeFileSync(file, 'FETCH_STATUS_PORT=9001\nFETCH_TASK_HOURS=3\n');
  expect(await reload()).toMatchObject({
    updatedKeys: ['FETCH_TASK_HOURS'],
    restartKeys: ['FETCH_STATUS_PORT'],
    message: '1 key(s) updated; FETCH_STATUS_PORT needs a restart',
  });
  expect(api.config.FETCH_STATUS_PORT).toBe(8765);
});

describe('defect 33 of the original', () => {
  it('defect 33: takes the shipped template, with every line of it uncommented', async () => {
    const template = readFileSync(join(import.meta.dirname, '../../.env.example'), 'utf8');
    writeFileSync(file, template);
    expect(await reload()).toMatchObject({ success: true, updatedKeys: [] });
    writeFileSync(file, template.replace(/^# ([A-Z_]+=)/gm, '$1'));
    expect(await reload()).toMatchObject({ success: true, updatedKeys: [] });
  });

  it('does not refuse a file for names that it does not know', async () => {
    writeFileSync(file, 'TZ=UTC\nSOMETHING_ELSE=1\nFETCH_CB_THRESHOLD=3\nFETCH_TASK_HOURS=5\n');
    expect(await reload()).toMatchObject({ status: 200, updatedKeys: ['FETCH_TASK_HOURS'] });
  });
});

it('a changed setting counts at its next use: the autonomy of a new chat', async () => {
  writeFileSync(file, 'FETCH_AUTONOMY=supervised\n');
  await reload();
  const headers = { Authorization: 'Bearer tok-reload', 'Content-Type': 'application/json' };
  const { id } = JSON.parse((await send(api.port, 'POST', '/v1/threads', headers, '{}')).body);
  const chat = await api.store.db
    .selectFrom('chats')
    .select('autonomy')
    .where('address', '=', id)
    .executeTakeFirstOrThrow();
  expect(chat.autonomy).toBe('supervised');
});
