import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endTask, insertTask } from '../../../src/store/kennel/tasks/tasks.ts';
import {
  latestTogether,
  leftOver,
  markChosen,
  markDropped,
  openTogether,
  tasksTogether,
  tellsOfAll,
} from '../../../src/store/kennel/tasks/together.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { newThread } from '../../support/thread.ts';

/** Attempts at one goal, and those that join parts of others. */

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
}, 120_000);
afterAll(() => database?.close());

let races = 0;
async function race(): Promise<{
  id: string;
  chatId: string;
  attempt(): Promise<string>;
  ends(id: string): Promise<void>;
}> {
  const { db } = database.store;
  const { chatId } = await newThread(db);
  races += 1;
  const id = await openTogether(db, `turn_race${races}`, chatId, 'race');
  let made = 0;
  return {
    id,
    chatId,
    async attempt() {
      made += 1;
      const key = `${races}_${made}`;
      const task = await insertTask(db, {
        id: `tsk_${key}`,
        chat_id: chatId,
        call_id: `call_${key}`,
        workflow_id: `task/${key}`,
        goal: 'fix it',
        agent: 'auto',
        harness: 'practice',
        host: 'local',
        workspace: 'shop',
        worktree: true,
        timeout_ms: 1_000,
        race_id: id,
      });
      return task!.id;
    },
    ends: async (task) => {
      const result = { summary: 'done', changes: null, tests: null, said: '' };
      await endTask(db, task, { state: 'completed', reason: 'done', result, outboxId: `out_${task}_result` });
    },
  };
}

describe('attempts of a race', () => {
  it('are told of together once, and once more when one that joins parts of them is over', async () => {
    const { db } = database.store;
    const { id, attempt, ends, chatId } = await race();
    const [one, two] = [await attempt(), await attempt()];
    await ends(one);
    await ends(two);
    expect(await latestTogether(db, chatId)).toBeNull();
    // a repeated call has the same answer
    const asked = [two, one, two].map((task) => () => tellsOfAll(db, id, task));
    const told: boolean[] = [];
    for (const ask of asked) told.push(await ask());
    expect(told).toEqual([true, false, true]);
    const joins = await attempt();
    expect(await tellsOfAll(db, id, one)).toBe(false);
    await ends(joins);
    expect([await tellsOfAll(db, id, joins), await tellsOfAll(db, id, joins)]).toEqual([true, true]);
    expect(await tellsOfAll(db, id, two)).toBe(false);
    expect((await tasksTogether(db, id)).map((task) => task.id)).toEqual([one, two, joins]);
    expect(await latestTogether(db, chatId)).toMatchObject({ id, kind: 'race', isAsking: true, isDropped: false });
  });

  it('lose their branches a day after one was chosen, but for the chosen one, and once', async () => {
    const { db } = database.store;
    const { id, attempt, ends, chatId } = await race();
    const [one, two] = [await attempt(), await attempt()];
    for (const task of [one, two]) await ends(task);
    await tellsOfAll(db, id, two);
    const left = async () => (await leftOver(db, 'local')).map((task) => task.id);
    expect(await left()).toEqual([]);
    await markChosen(db, { id: two, race_id: id });
    expect(await left()).toEqual([]);
    const days = (interval: string) =>
      db.updateTable('races').set({ chosen_at: sql<Date>`now() - ${sql.lit(interval)}::interval` });
    await days('23 hours').where('id', '=', id).execute();
    expect(await left()).toEqual([]);
    await days('25 hours').where('id', '=', id).execute();
    expect(await left()).toEqual([one]);
    expect(await leftOver(db, 'elsewhere')).toEqual([]);
    await markDropped(db, [id]);
    expect(await left()).toEqual([]);
    expect(await latestTogether(db, chatId)).toMatchObject({ isDropped: true });
  });
});
