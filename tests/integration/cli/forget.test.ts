import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteIdle } from '../../../src/gateway/intake/reconcile/sweeper.ts';
import type { AuditBody } from '../../../src/store/home/audit-log.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { holding as tablesHolding } from '../../support/holding.ts';
import { callOverMcp } from '../../support/mcp-client.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { workflowOfThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
let connection: Connection;
beforeAll(async () => {
  app = await startTestApp({ FETCH_AUTONOMY: 'autonomous' }, { strict: true });
  connection = await Connection.connect({ address: app.temporalAddress });
});
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
async function forget(...args: string[]): Promise<string> {
  const env = {
    ...process.env,
    FETCH_HOME: app.home,
    FETCH_POSTGRES_PORT: new URL(app.databaseUrl).port,
    FETCH_TEMPORAL_PORT: app.temporalAddress.split(':')[1],
  };
  return (await promisify(execFile)(process.execPath, [ENTRY, 'forget', ...args], { env })).stdout;
}

const holding = (word: string): Promise<string[]> => tablesHolding(app.store.db, word);
/** Messages of a chat with what a provider wants back. */
const statesIn = (thread: string) =>
  app.store.db
    .selectFrom('transcript')
    .select('id')
    .where('thread_id', '=', thread)
    .where('step_state', 'is not', null)
    .execute();

async function fullChat(word: string): Promise<string> {
  const thread = await app.thread({ title: word });
  const steps = [{ tool: 'read_output', args: { callId: '{{input.id}}' } }];
  const calls: Array<[string, object]> = [
    ['workflow_create', { name: word.toLowerCase(), steps }],
    ['cron_create', { workflow: word.toLowerCase(), schedule: '0 4 * * *', inputs: { id: word } }],
    ['remember', { text: `${word} likes tea` }],
  ];
  await app.ended(
    thread,
    await app.turn(thread, [...calls.map((call) => ({ call: [call] })), { say: `done, ${word}` }]),
  );
  await app.say(thread, `remind me to call ${word} in 3 days`);
  await app.ended(
    thread,
    await app.turn(thread, [{ call: [['ask_user', { question: `${word}?` }]] }, { fail: 401 }]).then(async (turn) => {
      await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
      await app.say(thread, word);
      return turn;
    }),
  );
  return thread;
}

describe('fetch forget', () => {
  it('says first what it would delete, and changes nothing', async () => {
    const thread = await fullChat('Zeisig');
    const before = await holding('Zeisig');
    expect(before).toEqual(
      expect.arrayContaining([
        'calls',
        'crons',
        'events',
        'inbox',
        'items',
        'outbox',
        'questions',
        'reminders',
        'transcript',
        'turns',
      ]),
    );
    const said = await forget(thread);
    expect(said).toMatch(
      /^Would be deleted:\n[\s\S]* 1 in chats\n[\s\S]* 1 in crons\n[\s\S]* 1 schedules in Temporal\n[\s\S]*Stays:\n[\s\S]*Nothing was changed\. Do it: the same with --yes\n$/,
    );
    expect(await holding('Zeisig')).toEqual(before);
    await expect(forget('thr_nobody')).rejects.toThrow(/Nothing is stored of "thr_nobody"/);
  });

  it('deletes a chat from every table and from Temporal, writes that down, and leaves others alone', async () => {
    const [gone, other] = [await fullChat('Amsel'), await fullChat('Drossel')];
    const temporal = clientOf(app, connection);
    const workflow = await workflowOfThread(app.store.db, gone);
    const kept = await holding('Drossel');
    expect(await statesIn(gone)).not.toEqual([]);
    expect(await forget(gone, '--yes')).toMatch(/^Deleted:\n/);
    expect((await holding('Amsel')).filter((table) => table !== 'memories')).toEqual([]);
    expect(await statesIn(gone)).toEqual([]);
    expect(await statesIn(other)).not.toEqual([]);
    expect(await holding('Drossel')).toEqual(kept);
    await until(
      'its workflow is gone',
      async () => (await Array.fromAsync(temporal.workflow.list({ query: `WorkflowId = '${workflow}'` }))).length === 0,
    );
    const schedules = (await Array.fromAsync(temporal.schedule.list())).map(({ scheduleId }) => scheduleId);
    const crons = await app.store.db.selectFrom('crons').select('id').execute();
    expect(schedules.sort()).toEqual(crons.map(({ id }) => `cron/${id}`).sort());
    const { body } = await app.store.db
      .selectFrom('audit_log')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow();
    expect(JSON.parse(body) as AuditBody).toMatchObject({
      what: 'forgotten',
      by: { role: 'terminal' },
      through: 'fetch-forget',
    });
    // the other one goes on
    await app.ended(other, await app.turn(other, [{ say: 'still here' }]));
    expect((await app.request('GET', `/v1/threads/${gone}`)).status).toBe(404);
  });

  it('erases sessions by age, and none that is younger or at work', async () => {
    const { db } = app.store;
    const [old, young, busy] = [await fullChat('Meise'), await fullChat('Sperling'), await app.thread()];
    const turn = await app.turn(busy, [{ call: [['ask_user', { question: 'Wait?' }]] }, { say: 'ok' }]);
    const aged = new Date(Date.now() - 40 * 24 * 3_600_000);
    await db.updateTable('threads').set({ updated_at: aged }).where('id', 'in', [old, busy]).execute();
    expect(await deleteIdle({ db }, new Date(Date.now() - 30 * 24 * 3_600_000))).toBe(1);
    // schedules, reminders and memories are no part of a session
    expect(
      (await holding('Meise')).filter((table) => !['crons', 'reminders', 'memories', 'routines'].includes(table)),
    ).toEqual([]);
    expect(await holding('Sperling')).toContain('transcript');
    expect([await statesIn(old), (await statesIn(young)).length > 0]).toEqual([[], true]);
    await app.say(busy, 'no');
    await app.ended(busy, turn);
    expect((await app.request('GET', `/v1/threads/${young}`)).status).toBe(200);
  });

  it('and the erasure by age reach what programs called over MCP', async () => {
    const { db } = app.store;
    const threadOf = async (word: string): Promise<string> => {
      expect((await callOverMcp(app, 'recall', { query: word })).isError).toBe(false);
      expect(await holding(word)).toEqual(expect.arrayContaining(['calls', 'inbox', 'items', 'transcript', 'turns']));
      const { thread_id } = await db
        .selectFrom('turns')
        .select('thread_id')
        .where('call', 'is not', null)
        .orderBy('created_at', 'desc')
        .executeTakeFirstOrThrow();
      return thread_id;
    };
    const keysOf = (thread: string) =>
      db.selectFrom('request_keys').select('key').where('thread_id', '=', thread).execute();
    const gone = await threadOf('Pirol');
    expect(await keysOf(gone)).not.toEqual([]);
    await forget(gone, '--yes');
    expect([await holding('Pirol'), await keysOf(gone)]).toEqual([[], []]);
    const old = await threadOf('Wiedehopf');
    await db
      .updateTable('threads')
      .set({ updated_at: new Date(0) })
      .where('id', '=', old)
      .execute();
    expect(await deleteIdle({ db }, new Date(1))).toBe(1);
    expect(await holding('Wiedehopf')).toEqual([]);
  });

  it('refuses while a turn is at work', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [['ask_user', { question: 'Wait?' }]] }, { say: 'ok' }]);
    await expect(forget(thread, '--yes')).rejects.toThrow(new RegExp(`Turn ${turn} is at work in it`));
    await app.say(thread, 'no');
    await app.ended(thread, turn);
  });

  it('deletes a person of WhatsApp: trust, shares, keys, names in groups, and no key of anybody else', async () => {
    const { db } = app.store;
    const [phone, lid, group] = ['491701234567', '99887766', '120363@g.us'];
    const [pn, lidJid] = [`${phone}@s.whatsapp.net`, `${lid}@lid`];
    const groupChat = await app.thread();
    const chat = (
      await db.selectFrom('threads').select('chat_id').where('id', '=', groupChat).executeTakeFirstOrThrow()
    ).chat_id;
    await db
      .insertInto('wa_trusted')
      .values([{ phone }, { phone: '491709999999' }])
      .execute();
    await db
      .insertInto('workspace_shares')
      .values([
        { workspace: 'demo', person: phone },
        { workspace: 'demo', person: '491709999999' },
      ])
      .execute();
    await db
      .insertInto('wa_contacts')
      .values({ account: 'main', lid: lidJid, pn, name: 'Ada', chat_address: pn, reply_jid: lidJid })
      .execute();
    const keys = [`${phone}.0`, `${lid}_1.3`, `${group}::${phone}::0`, phone, `${lid}_reverse`, lidJid];
    const others = [`${phone}9.0`, `1${phone}.0`, `${group}::491709999999::0`, 'me'];
    for (const id of [...keys, ...others])
      await db
        .insertInto('wa_keys')
        .values({ account: 'main', type: 'session', id, data: Buffer.from('k') })
        .execute();
    await db
      .insertInto('inbox')
      .values({
        id: 'in_group',
        chat_id: chat,
        thread_id: groupChat,
        turn_id: null,
        channel_message_id: 'g1',
        arrival: '{}',
        body: 'Ada wrote this',
        written_by: JSON.stringify([{ role: 'member', channel: 'whatsapp', id: pn }]),
        signalled_at: new Date(),
        consumed_at: null,
      })
      .execute();
    const metadata = JSON.stringify({ id: group, subject: 'us', participants: [{ id: lidJid, phoneNumber: pn }] });
    await db
      .insertInto('wa_groups')
      .values({ account: 'main', jid: group, metadata, fetched_at: new Date() })
      .execute();

    const said = await forget('+49 170 1234567', '--yes');
    expect(said).toMatch(/6 in wa_keys/);
    for (const word of [phone, lid, 'Ada'])
      expect(
        (await holding(word)).filter((table) => table !== 'wa_keys'),
        word,
      ).toEqual([]);
    const left = (await db.selectFrom('wa_keys').select('id').where('account', '=', 'main').execute()).map(
      ({ id }) => id,
    );
    expect(left.sort()).toEqual([...others].sort());
    expect(await db.selectFrom('wa_trusted').select('phone').execute()).toEqual([{ phone: '491709999999' }]);
    expect(await db.selectFrom('workspace_shares').select('person').execute()).toEqual([{ person: '491709999999' }]);
    await expect(forget('+491701234567')).rejects.toThrow(/Nothing is stored/);
  });
});
