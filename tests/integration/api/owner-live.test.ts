import { get } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type {
  OwnerDoctor,
  OwnerLogs,
  OwnerNow,
  OwnerQuestion,
  OwnerSchedule,
  OwnerSchedules,
  OwnerTemporal,
} from '../../../src/contracts/owner.ts';
import { script } from '../../support/app.ts';
import { until } from '../../support/until.ts';
import type { Contact } from '../../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../support/whatsapp-app.ts';

/** The owner's page beside a phone, on a whole instance. */

let world: WhatsAppApp;
let ann: Contact;
beforeAll(async () => {
  world = await startWhatsAppApp((fixture) => {
    ann = fixture.contact('Ann');
    return { OWNER_PHONE_NUMBER: ann.pn.split('@')[0]!, WHATSAPP_NUMBER: 'dedicated', FETCH_AUTONOMY: 'supervised' };
  });
}, 180_000);
afterAll(() => world?.close());

const ask = async <T>(method: string, path: string, body?: object): Promise<{ status: number; body: T }> =>
  (await world.app.request(method, path, body)) as { status: number; body: T };
const waiting = async (): Promise<OwnerQuestion[]> => (await ask<OwnerNow>('GET', '/v1/owner/now')).body.waiting;
const told = (text: string | RegExp) =>
  until(
    `Ann is told ${text}`,
    () =>
      ann.received.findLast(({ shown }) =>
        typeof text === 'string' ? shown.text.includes(text) : text.test(shown.text),
      ),
    60_000,
  );
const saves = (name: string) =>
  script([{ call: [['workflow_create', { name, steps: ['workflow_list'] }]] }, { say: `Saved ${name}.` }]);
const asks = (name: string) =>
  until(
    `the page shows the question about ${name}`,
    async () => (await waiting()).find(({ prompt }) => prompt.includes(`"${name}"`)),
    60_000,
  );

it('an approval that the phone shows is answered on the page, and is closed on both', async () => {
  await ann.send(saves('by-page'));
  const question = await asks('by-page');
  const onPhone = await told('Save the routine "by-page"?');
  expect(question).toMatchObject({
    kind: 'approval',
    tool: 'workflow_create',
    chat: { channel: 'whatsapp', group: false },
  });
  const yes = question.answer.choices.find(({ kind }) => kind === 'yes')!;
  expect((await ask(question.answer.method, question.answer.path, yes.body)).status).toBe(200);
  await told('Saved by-page.');
  expect((await waiting()).some(({ id }) => id === question.id)).toBe(false);
  const decided = () =>
    world.app.store.db
      .selectFrom('questions')
      .select(['state', 'decision', 'decided_by'])
      .where('id', '=', question.id)
      .executeTakeFirstOrThrow();
  const byPage = { state: 'answered', decision: 'allow', decided_by: { role: 'client', channel: 'api' } };
  expect(await decided()).toEqual(byPage);
  // a late reaction on the phone finds it closed
  await ann.react(onPhone, '👎');
  await told('That question is settled already');
  expect(await decided()).toEqual(byPage);
});

it('an approval that the phone answers is gone from the page, and a late yes there changes nothing', async () => {
  await ann.send(saves('by-phone'));
  const question = await asks('by-phone');
  await ann.send('no', { quoted: await told('Save the routine "by-phone"?') });
  await until('the page shows it no more', async () => !(await waiting()).some(({ id }) => id === question.id));
  expect((await ask(question.answer.method, question.answer.path, question.answer.choices[0]!.body)).status).toBe(404);
  expect(
    await world.app.store.db.selectFrom('routines').select('id').where('name', '=', 'by-phone').executeTakeFirst(),
  ).toBeUndefined();
});

it('a schedule is run, paused and ended from the page', async () => {
  const { id: thread } = (await ask<{ id: string }>('POST', '/v1/threads', { auto_approve: true })).body;
  const turn = await world.app.turn(thread, [
    { call: [['workflow_create', { name: 'tidy', steps: ['workflow_list'] }]] },
    { call: [['cron_create', { workflow: 'tidy', schedule: '0 3 * * *' }]] },
    { say: 'made' },
  ]);
  await world.app.ended(thread, turn);
  const listed = async (): Promise<OwnerSchedule | undefined> =>
    (await ask<OwnerSchedules>('GET', '/v1/owner/schedules')).body.schedules.find(({ name }) => name === 'tidy');
  const press = async (name: string) => {
    const { method, path } = (await listed())!.actions.find((action) => action.name === name)!;
    return (await ask(method, path)).status;
  };
  expect(await listed()).toMatchObject({ enabled: true, next: { length: 5 }, runs: [] });
  expect(await press('run')).toBe(200);
  await until('the run has its result', async () => (await listed())!.runs[0]?.status === 'completed', 60_000);
  expect(await press('pause')).toBe(200);
  expect(await listed()).toMatchObject({ enabled: false, next: [] });
  expect(await press('resume')).toBe(200);
  expect((await listed())!.enabled).toBe(true);
  expect(await press('remove')).toBe(200);
  expect(await listed()).toBeUndefined();
});

it('shows what the doctor finds, the logs of every role, and a link into the Temporal Web UI that works', async () => {
  const { body: doctor } = await ask<OwnerDoctor>('GET', '/v1/owner/doctor');
  expect(doctor.findings.find(({ name }) => name === 'model')).toMatchObject({
    state: expect.stringMatching(/ok|warning/),
  });
  const { body: logs } = await ask<OwnerLogs>('GET', '/v1/owner/logs?limit=1000');
  expect(logs.lines.length).toBeGreaterThan(5);
  expect(JSON.stringify(logs)).not.toContain('test-token');
  const { body: link } = await ask<OwnerTemporal>('GET', '/v1/owner/temporal?workflow=chat%2Fapi%2Fx');
  const entered = await fetch(link.url!, { redirect: 'manual' });
  expect([entered.status, entered.headers.get('location')]).toEqual([
    303,
    `/fetch-entry?to=${encodeURIComponent('/namespaces/default/workflows/chat%2Fapi%2Fx')}`,
  ]);
});

it('a stream of changes goes on after the API was killed', async () => {
  let text = '';
  const follow = (last: string | undefined) =>
    new Promise<() => void>((resolve, reject) => {
      const headers = { Authorization: 'Bearer test-token', ...(last && { 'Last-Event-ID': last }) };
      const request = get(`${world.app.baseUrl}/v1/owner/events`, { headers }, (response) => {
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', () => {});
        resolve(() => request.destroy());
      });
      request.on('error', reject);
    });
  await follow(undefined);
  await until('it begins', () => text.includes('"about":"all"'));
  const last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
  world.app.kill('api');
  // WhatsApp is another role: a message comes while nobody can follow
  await ann.send(script([{ say: 'heard you' }]));
  await told('heard you');
  await world.app.whenReady();
  text = '';
  const close = await until('the API answers again', () => follow(last).catch(() => null), 60_000);
  const { thread_id } = await world.app.store.db
    .selectFrom('turns')
    .select('thread_id')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow();
  await until('the missed turn is told', () => text.includes('"about":"all"') || text.includes(thread_id));
  close();
});
