import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepReceipts, receiptKey } from '../../../src/cli/instance/home/receipt-key.ts';
import { forgetRows } from '../../../src/store/home/forget.ts';
import { findReceipt, issueReceipts, verifyReceipts } from '../../../src/store/home/receipts.ts';
import { findSubject } from '../../../src/store/home/subject.ts';
import type { Db } from '../../../src/store/postgres/database.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const VERIFIER = fileURLToPath(new URL('../../../bin/verify-receipt.js', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'fetch-receipts-'));
let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await startTestDatabase(10);
  db = database.store.db;
});
afterAll(async () => {
  await database?.close();
  rmSync(home, { recursive: true, force: true });
});

/** Rows as the product leaves them: a chat with a turn that has a call with an approval, and a task with a result. */
async function ended(name: string): Promise<{ turn: string; task: string; thread: string }> {
  const [chat, thread, turn, task] = [`chat/http/${name}`, `thr_${name}`, `turn_${name}`, `tsk_${name}`];
  await sql`insert into chats (id, channel, address, workflow_id) values (${chat}, 'http', ${name}, ${chat})`.execute(
    db,
  );
  await sql`insert into threads (id, chat_id, model, mode, workspace) values (${thread}, ${chat}, 'm', 'agent', '')`.execute(
    db,
  );
  await sql`insert into turns (id, thread_id, status, input_summary, started_at, ended_at)
    values (${turn}, ${thread}, 'completed', 'push it', now(), now())`.execute(db);
  await sql`insert into steps (key, turn_id, step, model, result, input_tokens, output_tokens, micro_usd)
    values (${`${turn}/1`}, ${turn}, 1, 'm', '{}', 100, 20, 7)`.execute(db);
  await sql`insert into calls (id, provider_id, turn_id, thread_id, item_id, step, position, name, args, danger, effect, state, ok)
    values (${`call_${name}`}, 'p', ${turn}, ${thread}, ${`item_${name}`}, 1, 0, 'web_fetch', '{"url":"https://example.com/x"}', 'SAFE', 'once', 'done', true)`.execute(
    db,
  );
  await sql`insert into questions (id, chat_id, thread_id, turn_id, call_id, kind, prompt, options, state, decision, evidence, shown, decided_at, decided_by)
    values (${`q_${name}`}, ${chat}, ${thread}, ${turn}, ${`call_${name}`}, 'approval', 'Push this?', '[]', 'answered', 'allow', 'git push and more', 8, now(), '{"role":"owner","channel":"whatsapp","id":"491701234567@s.whatsapp.net"}')`.execute(
    db,
  );
  const result = {
    summary: 'done',
    parts: [
      { part: 'build', command: 'make', state: 'failed', passedBefore: true, output: 'a\nmake: *** [all] Error 1\n' },
    ],
    said: 'All 212 tests pass.',
    changes: { commit: 'abc', branch: 'main', files: [], filesChanged: 3, added: 5, removed: 1, test: null },
    tests: { command: 'npm test', ok: false, output: 'first\nnot ok 1\n' },
    verdict: {
      level: 'unverified',
      headline: '',
      reasons: ['This test fails: `a`.'],
      passed: 0,
      failed: 1,
      skipped: 0,
    },
  };
  await sql`insert into tasks (id, chat_id, thread_id, turn_id, call_id, workflow_id, goal, agent, harness, host, workspace, state, timeout_ms, step, result, ended_at)
    values (${task}, ${chat}, ${thread}, ${turn}, ${`call_${name}`}, ${`task/${task}`}, 'mend it', 'auto', 'practice', 'local', 'demo', 'completed', 1, 1, ${JSON.stringify(result)}, now())`.execute(
    db,
  );
  return { turn, task, thread };
}

const written = async (id: string): Promise<string> => {
  const file = join(home, `${id}.json`);
  writeFileSync(file, `${JSON.stringify(await findReceipt(db, id), null, 2)}\n`);
  return file;
};
const verified = (...files: string[]) => spawnSync(process.execPath, [VERIFIER, ...files], { encoding: 'utf8' });

describe('receipts', () => {
  it('say what a turn and its task did, who allowed it by what they were shown, and can be checked without us', async () => {
    const { turn, task, thread } = await ended('one');
    const key = receiptKey(home);
    expect(statSync(join(home, 'receipt-key')).mode & 0o777).toBe(0o600);
    expect(await issueReceipts(db, key)).toBe(2);
    expect(await issueReceipts(db, receiptKey(home))).toBe(0);
    expect((await findReceipt(db, turn))!.body).toMatchObject({
      kind: 'turn',
      thread,
      status: 'completed',
      models: ['m'],
      calls: [{ name: 'web_fetch', outcome: 'done', arguments: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      approvals: [
        {
          kind: 'approval',
          shown: 'Push this?\ngit push',
          decision: 'allow',
          decided_by: { role: 'owner', id: '…4567' },
        },
      ],
      hosts: ['example.com'],
      spend: { input_tokens: 100, output_tokens: 20, micro_usd: 7 },
      tasks: [task],
    });
    expect((await findReceipt(db, task))!.body).toMatchObject({
      kind: 'task',
      turn,
      checkpoint: task,
      commit: 'abc',
      changed: { files: 3, added: 5, removed: 1 },
      checks: [
        { command: 'npm test', passed: false, last_line: 'not ok 1' },
        { command: 'make', passed: false, last_line: 'make: *** [all] Error 1' },
      ],
      verdict: { level: 'unverified', reasons: ['This test fails: `a`.'] },
    });
    const { status, stdout } = verified(await written(turn), await written(task));
    expect({ status, lines: stdout.match(/is unchanged/g) }).toEqual({
      status: 0,
      lines: ['is unchanged', 'is unchanged'],
    });
  });

  it('are one unbroken chain when several processes issue them at the same time', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `many${at}`);
    for (const name of names) await ended(name);
    await Promise.all(Array.from({ length: 5 }, () => issueReceipts(db, receiptKey(home))));
    const rows = await db.selectFrom('receipts').select(['number', 'previous', 'hash']).orderBy('number').execute();
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_, at) => at + 1));
    expect(rows.length).toBe(26);
    expect(rows.slice(1).map(({ previous }) => previous)).toEqual(rows.slice(0, -1).map(({ hash }) => hash));
  });

  it('are issued by a running instance soon after the end, and by the one after it where that was killed', async () => {
    const { turn } = await ended('later');
    const stop = keepReceipts(db, home);
    await until('its receipt', async () => await findReceipt(db, turn));
    stop();
  });

  it('are never changed or removed, only emptied', async () => {
    await expect(sql`update receipts set body = '{}'`.execute(db)).rejects.toThrow('only appended to');
    await expect(sql`update receipts set body = null, digest = ''`.execute(db)).rejects.toThrow('only appended to');
    await expect(sql`delete from receipts`.execute(db)).rejects.toThrow('only appended to');
    await expect(sql`truncate receipts`.execute(db)).rejects.toThrow('only appended to');
  });

  it('lose what they say when their chat is forgotten, and stay in the chain', async () => {
    const { turn, task, thread } = await ended('gone');
    const { turn: next } = await ended('next');
    await issueReceipts(db, receiptKey(home));
    const subject = await findSubject(db, thread);
    expect(await forgetRows(db, subject!, { dryRun: false })).toMatchObject({ receipts: 2 });
    expect([await findReceipt(db, turn), await findReceipt(db, task)]).toEqual([null, null]);
    expect(verified(await written(next)).status).toBe(0);
    const left = await db.selectFrom('receipts').select('hash').where('subject', '=', `turn/${turn}`).execute();
    expect(left).toHaveLength(1);
    expect((await verifyReceipts(db)).findings).toEqual([]);
  });

  it('are found when somebody who owns the database changes, adds or takes out one', async () => {
    const tamper = async (change: string) => {
      const found = await db
        .transaction()
        .execute(async (tx) => {
          await sql`alter table receipts disable trigger user`.execute(tx);
          await sql.raw(change).execute(tx);
          throw Object.assign(new Error('undone'), await verifyReceipts(tx as never));
        })
        .catch((error: Error & { findings?: string[] }) => error.findings ?? [error.message]);
      return found;
    };
    expect(await tamper("update receipts set body = replace(body, 'completed', 'cancelled') where number = 2")).toEqual(
      ['Receipt 2 was changed.'],
    );
    expect(await tamper("update receipts set previous = '' where number = 3")).toEqual(['Receipt 3 was changed.']);
    expect(await tamper('delete from receipts where number in (4, 5)')).toEqual(['Receipts 4 to 5 are missing.']);
    expect(await tamper('update receipts set number = number + 1000 where number = 1')).not.toEqual([]);
    expect(await verifyReceipts(db)).toMatchObject({ findings: [] });
  });
});
