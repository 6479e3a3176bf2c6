import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keepAuditHead, lostHead, notedHead } from '../../../src/cli/instance/home/audit-head.ts';
import { type AuditBody, appendAudit, auditHead, newestAudit, verifyAudit } from '../../../src/store/home/audit-log.ts';
import { addMemory, removeAnyMemories } from '../../../src/store/owner/memories.ts';
import type { Db } from '../../../src/store/postgres/database.ts';
import { trustPhone } from '../../../src/store/whatsapp/contacts.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await startTestDatabase(20);
  db = database.store.db;
});
afterAll(() => database?.close());

/** As somebody who owns the database can. */
async function tamper(act: (tx: Db) => Promise<unknown>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`alter table audit_log disable trigger user`.execute(tx);
    await act(tx as never);
    await sql`alter table audit_log enable trigger user`.execute(tx);
  });
}
const emptied = () => tamper((tx) => sql`truncate audit_log`.execute(tx));
const filled = async (count: number) => {
  for (let at = 1; at <= count; at += 1)
    await appendAudit(db, 'settings changed', { role: 'terminal' }, { names: [`S${at}`] });
};
const findings = async (noted: Awaited<ReturnType<typeof auditHead>> = null) => (await verifyAudit(db, noted)).findings;
beforeEach(emptied);

describe('the audit log', () => {
  it('is whole when many processes write into it at the same time, and has every deed once', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, writer) => {
        for (let at = 0; at < 10; at += 1)
          await db.transaction().execute(async (tx) => {
            await trustPhone(tx, `49${writer}000${at}`);
            await tx
              .insertInto('workspace_shares')
              .values({ workspace: `w${writer}-${at}`, person: `49${writer}@s.whatsapp.net` })
              .execute();
          });
      }),
    );
    expect(await verifyAudit(db, null)).toMatchObject({ entries: 400, findings: [], head: { seq: 400 } });
    const bodies = (await newestAudit(db, 400)).map(({ body }) => JSON.parse(body) as AuditBody);
    expect(new Set(bodies.map(({ about }) => JSON.stringify(about))).size).toBeGreaterThan(200);
    expect(bodies[0]).toMatchObject({
      what: expect.stringMatching(/person trusted|workspace shared/),
      through: 'fetch-test',
      at: expect.stringMatching(/^20.*Z$/),
    });
  });

  it('has nothing of a transaction that was rolled back, and no text or whole number of a person', async () => {
    await expect(
      db.transaction().execute(async (tx) => {
        await trustPhone(tx, '491701234567');
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await newestAudit(db, 1)).toEqual([]);
    await db.transaction().execute((tx) => trustPhone(tx, '491709876543'));
    await addMemory(db, { id: 'mem_one', owner: 'owner', body: 'Ada deploys on Fridays', sources: [] });
    await removeAnyMemories(db, null);
    const [memory, trusted] = await newestAudit(db, 2);
    expect(JSON.parse(trusted!.body)).toMatchObject({ what: 'person trusted', about: { phone: '…6543' } });
    expect(JSON.parse(memory!.body)).toMatchObject({ what: 'memory deleted', about: { id: 'mem_one' } });
    expect(trusted!.body + memory!.body).not.toMatch(/170|Ada|Fridays/);
  });

  it('refuses to be changed, emptied or shortened', async () => {
    await filled(2);
    for (const attempt of [sql`update audit_log set body = 'x'`, sql`delete from audit_log`, sql`truncate audit_log`])
      await expect(attempt.execute(db)).rejects.toThrow('only appended to');
    expect(await findings()).toEqual([]);
  });

  it('shows each byte that somebody changes in it who gets past that', async () => {
    await filled(12);
    const rows = (await newestAudit(db, 12)).reverse();
    for (const row of rows) {
      for (const column of ['body', 'hash'] as const) {
        const bytes = Buffer.from(row[column]);
        const at = randomInt(bytes.length);
        // another character that is one byte, so that the text stays text
        bytes[at] = column === 'body' ? (bytes[at] === 0x78 ? 0x79 : 0x78) : bytes[at]! ^ (1 << randomInt(8));
        const changed = column === 'body' ? bytes.toString('utf8') : bytes;
        await tamper((tx) =>
          tx
            .updateTable('audit_log')
            .set({ [column]: changed })
            .where('seq', '=', row.seq)
            .execute(),
        );
        expect(await findings(), `byte ${at} of the ${column} of entry ${row.seq}`).toContain(
          `Entry ${row.seq} was changed.`,
        );
        await tamper((tx) =>
          tx
            .updateTable('audit_log')
            .set({ [column]: row[column] })
            .where('seq', '=', row.seq)
            .execute(),
        );
      }
    }
    expect(await findings()).toEqual([]);
    await tamper((tx) => sql`update audit_log set seq = case seq when 5 then 105 else 5 end where seq = 5`.execute(tx));
    expect(await findings()).toContain('Entries 5 to 5 are missing.');
  });

  it('shows entries that are missing in the middle, at the beginning, and at the end by the head that a home has noted', async () => {
    await filled(9);
    const head = await auditHead(db);
    const without = async (from: number, to: number) =>
      await tamper((tx) => tx.deleteFrom('audit_log').where('seq', '>=', from).where('seq', '<=', to).execute());
    await without(4, 5);
    expect(await findings()).toEqual(['Entries 4 to 5 are missing.']);
    await without(1, 1);
    expect(await findings()).toEqual(['Entries 1 to 1 are missing.', 'Entries 4 to 5 are missing.']);
    await emptied();
    await filled(9);
    const later = await auditHead(db);
    await without(8, 9);
    // the database alone cannot know
    expect(await findings()).toEqual([]);
    expect(await findings(later)).toEqual(['Entries 8 to 9 were cut off at the end: this home has noted entry 9.']);
    // another end of the same length
    await filled(2);
    expect(await findings()).toEqual([]);
    expect(await findings(later)).toEqual([expect.stringMatching(/^Entry 9 is another one than was noted/)]);
    expect(head).not.toEqual(later);
  });

  it('has its head noted in the home, which is not replaced once the log lacks it', async () => {
    const home = mkdtempSync(join(tmpdir(), 'fetch-audit-'));
    const errors: unknown[] = [];
    const log = { error: (...said: unknown[]) => void errors.push(said), warn: () => {} };
    try {
      await filled(3);
      keepAuditHead(db, home, log)();
      await until('the head is noted', () => notedHead(home));
      const stop = keepAuditHead(db, home, log);
      await filled(1);
      const noted = (await auditHead(db))!;
      await until('a new entry is noted, too', () => notedHead(home)?.hash === noted.hash);
      stop();
      expect(await lostHead(db, home)).toBeNull();
      await tamper((tx) => tx.deleteFrom('audit_log').where('seq', '=', noted.seq).execute());
      keepAuditHead(db, home, log)();
      await until('the loss is logged', () => errors.length > 0);
      expect(notedHead(home)).toEqual(noted);
      expect(await lostHead(db, home)).toEqual(noted);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
