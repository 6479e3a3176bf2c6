import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { traceOf } from '../../../src/store/home/operations.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { fillTables } from '../../support/many-rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
  const { db } = database.store;
  await fillTables(db, 20);
  const set = (id: string, trace: string) => sql`update inbox set trace_parent = ${trace} where id = ${id}`.execute(db);
  await set('inb_old7', 'of the message');
  // a word for the running turn, some minutes later
  await sql`update inbox set turn_id = 'turn_old7', received_at = received_at + interval '5 minutes' where id = 'inb_old8'`.execute(
    db,
  );
  await set('inb_old8', 'of a later word');
  await sql`update inbox set turn_id = null, arrival = '{"kind": "reply", "outboxId": "out_old9"}' where id = 'inb_old9'`.execute(
    db,
  );
  await set('inb_old9', 'of a command');
});
afterAll(() => database?.close());

it('the trace of a message is found by its turn, by what is sent for it, and by a task that it began', async () => {
  const { db } = database.store;
  for (const work of [
    { turnId: 'turn_old7' },
    { outboxId: 'out_old7' },
    { taskId: 'tsk_old7' },
    { turnId: 'turn_old7', outboxId: 'out_old9' },
  ])
    expect(await traceOf(db, work)).toBe('of the message');
  expect(await traceOf(db, { outboxId: 'out_old9' })).toBe('of a command');
});

it('work without a message, or whose message was not traced, has none', async () => {
  const { db } = database.store;
  for (const work of [
    {},
    { turnId: 'turn_old3' },
    { outboxId: 'out_old3' },
    { taskId: 'tsk_old3' },
    { turnId: 'turn_unknown' },
  ])
    expect(await traceOf(db, work)).toBeNull();
});
