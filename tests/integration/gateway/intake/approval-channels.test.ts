import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { childEnvironment } from '../../../../src/config.ts';
import { FETCH_SETTING, script } from '../../../support/app.ts';
import { NO_DOCKER, requireDocker } from '../../../support/docker.ts';
import { kennelReady, workspace } from '../../../support/kennel-app.ts';
import { until } from '../../../support/until.ts';
import type { Contact } from '../../../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../../support/whatsapp-app.ts';

/**
 * What a person is shown before they consent, and what their words then do, on each channel. A bare word is too early
 * here for a whole minute.
 */

let world: WhatsAppApp;
let ann: Contact;
let ben: Contact;
const digits = ({ pn }: Contact): string => pn.split('@')[0]!;

beforeAll(async () => {
  world = await startWhatsAppApp((fixture) => {
    ann = fixture.contact('Ann');
    ben = fixture.contact('Ben');
    const people = { OWNER_PHONE_NUMBER: digits(ann), TRUSTED_PHONE_NUMBERS: digits(ben) };
    return { ...people, WHATSAPP_NUMBER: 'dedicated', FETCH_AUTONOMY: 'supervised', FETCH_READ_SECONDS: '60' };
  });
}, 120_000);
afterAll(() => world?.close());

const create = (name: string) => [
  { call: [['workflow_create', { name, description: 'ls\r; rm -rf \u202e/', steps: ['workflow_list'] }]] },
  { say: `Saved ${name}.` },
];
/** As a phone sends it: what WhatsApp's way in takes out of a message is escaped. */
const typed = (name: string): string => script(create(name)).replaceAll('\u202e', '\\u202e');
const SHOWN = 'description: ls␍; rm -rf ⟨U+202E⟩/';
const told = (who: Contact, text: string | RegExp) =>
  until(
    `${who.name} is told ${text}`,
    () =>
      who.received.findLast(({ shown }) =>
        typeof text === 'string' ? shown.text.includes(text) : text.test(shown.text),
      ),
    60_000,
  );
const routine = (name: string) =>
  world.app.store.db.selectFrom('routines').select('id').where('name', '=', name).executeTakeFirst();
const decidedBy = async (name: string) =>
  (
    await world.app.store.db
      .selectFrom('questions')
      .select('decided_by')
      .where('prompt', '=', `Save the routine "${name}"?`)
      .executeTakeFirstOrThrow()
  ).decided_by;

it('WhatsApp shows the question and what it is decided by; a bare yes is too early, a quote of the question is exact', async () => {
  await ann.send(typed('on-phone'));
  const question = await told(ann, 'Save the routine "on-phone"?');
  expect(question.shown.text).toContain(SHOWN);
  expect(question.shown.text).toMatch(/Answer yes, no, or "always" to stop asking\. 👍 and 👎 work, too\.$/);
  await ann.send('yes');
  await told(ann, 'That came before you could read the question');
  expect(await routine('on-phone')).toBeUndefined();
  await ann.send('yes', { quoted: question });
  await told(ann, 'Saved on-phone.');
  expect(await decidedBy('on-phone')).toEqual({ role: 'owner', channel: 'whatsapp', id: digits(ann) });
});

it('WhatsApp counts a question as shown when its server has the message', async () => {
  const { delivered_at, sent_at } = await world.app.store.db
    .selectFrom('questions')
    .innerJoin('wa_sends', 'wa_sends.question_id', 'questions.id')
    .select(['questions.delivered_at', 'wa_sends.sent_at'])
    .where('questions.prompt', '=', 'Save the routine "on-phone"?')
    .executeTakeFirstOrThrow();
  // the server tells whole seconds
  expect(Math.abs(delivered_at!.getTime() - sent_at!.getTime())).toBeLessThan(5_000);
});

it('somebody who is trusted approves what they asked for, and sets neither autonomy nor trust for what follows, nor shares', async () => {
  await ben.send('autonomous');
  await told(ben, 'Only the owner sets how much I do without asking.');
  await ben.send(`share demo with +${digits(ben)}`);
  await told(ben, 'Only the owner shares workspaces.');
  await ben.send(typed('by-ben'));
  const question = await told(ben, 'Save the routine "by-ben"?');
  await ben.send('yes all', { quoted: question });
  await told(ben, 'Only the owner can allow everything that follows.');
  expect(await routine('by-ben')).toBeUndefined();
  await ben.react(question, '👍');
  await told(ben, 'Saved by-ben.');
  expect(await decidedBy('by-ben')).toEqual({ role: 'trusted', channel: 'whatsapp', id: digits(ben) });
  const chats = await world.app.store.db
    .selectFrom('chats')
    .select('autonomy')
    .where('channel', '=', 'whatsapp')
    .execute();
  expect(new Set(chats.map(({ autonomy }) => autonomy))).toEqual(new Set(['supervised']));
});

it('HTTP gives the question, what it is decided by and the arguments; words are too early, the decision by id is exact', async () => {
  const { app } = world;
  const thread = await app.thread();
  const turn = await app.turn(thread, create('on-http'));
  const approval = await until('it is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
  expect(approval).toMatchObject({
    description: 'Save the routine "on-http"?',
    evidence: expect.stringContaining(SHOWN),
    input: { name: 'on-http' },
  });
  expect((await app.say(thread, 'yes')).kind).toBe('reply');
  expect(await routine('on-http')).toBeUndefined();
  expect((await app.request('POST', `/v1/approvals/${approval.id}`, { decision: 'allow' })).status).toBe(200);
  await app.ended(thread, turn);
  expect(await routine('on-http')).toBeDefined();
});

it('the terminal shows the question and what it is decided by; a bare yes that came too fast says so', async () => {
  const { app } = world;
  const clean = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name)));
  const entry = fileURLToPath(new URL('../../../../bin/fetch.js', import.meta.url));
  const chat = spawn(process.execPath, [entry, 'chat'], {
    env: { ...clean, FETCH_HOME: app.home, FETCH_RUNTIME_TOKEN: 'test-token' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  chat.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const sees = (text: string) => until(`the terminal shows ${text}`, () => shown.includes(text), 30_000);
  try {
    chat.stdin.write(`${script(create('on-terminal'))}\n`);
    await sees('? Save the routine "on-terminal"?');
    await sees(`  ${SHOWN}`);
    await sees('  yes, no, or "always" to stop asking');
    chat.stdin.write('yes\n');
    await sees('That came before you could read the question');
    expect(await routine('on-terminal')).toBeUndefined();
    const { id } = (await app.request('GET', '/v1/console')).body as { id: string };
    const [approval] = (await app.detail(id)).pending_approvals;
    await app.request('POST', `/v1/approvals/${approval!.id}`, { decision: 'allow' });
    await sees('Saved on-terminal.');
  } finally {
    chat.stdin.end();
    chat.kill('SIGTERM');
  }
});

it.skipIf(NO_DOCKER)(
  'WhatsApp is asked at once what a coding task asks, also while a screen has its thread open',
  async () => {
    const { app } = world;
    await requireDocker();
    await kennelReady(app);
    await workspace(app, 'at-the-desk');
    const call = { goal: 'ask Which colour? | red | blue; say {answer}', agent: 'practice', workspace: 'at-the-desk' };
    await ann.send(script([{ call: [['task_create', call]] }, { say: 'The task works.' }]));
    const begin = await told(ann, /Start a coding task|at-the-desk/);
    const { thread_id } = await app.store.db
      .selectFrom('questions')
      .select('thread_id')
      .where('state', '=', 'open')
      .executeTakeFirstOrThrow();
    const gone = new AbortController();
    const screens = [`/v1/threads/${thread_id}/events`, `/v1/threads/${thread_id}/events?since_seq=0`].map((path) =>
      fetch(app.baseUrl + path, { headers: { Authorization: 'Bearer test-token' }, signal: gone.signal }),
    );
    for (const screen of screens) expect((await screen).status).toBe(200);
    await ann.send('yes', { quoted: begin });
    await told(ann, 'The task works.');
    // the question before it shows the goal
    const question = await told(ann, /^(?![\s\S]*ask Which)[\s\S]*Which colour\?/);
    const { asked_at } = await app.store.db
      .selectFrom('questions')
      .select('asked_at')
      .where('task_id', 'is not', null)
      .executeTakeFirstOrThrow();
    expect(question.at - asked_at.getTime()).toBeLessThan(10_000);
    await ann.send('blue', { quoted: question });
    await told(ann, /^Done in at-the-desk[\s\S]*> blue/);
    gone.abort();
  },
  300_000,
);

it('refuses a folder of the machine to a trusted person, and asks nobody about it', async () => {
  await ben.send(script([{ call: [['workspace_clone', { from: '/etc' }]] }, { say: 'It says: $LAST' }]));
  await told(ben, 'It says: Only the owner brings in projects.');
  const asked = await world.app.store.db
    .selectFrom('questions')
    .select('id')
    .where('prompt', 'like', '%/etc%')
    .execute();
  expect(asked).toEqual([]);
});
