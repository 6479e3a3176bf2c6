import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_AUTONOMY: 'supervised' });
});
afterAll(() => app?.close());

const create = (name: string) => ['workflow_create', { name, steps: ['workflow_list'] }];
const approval = (thread: string) => until('an approval is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
const asked = async (thread: string): Promise<number> => (await app.events(thread)).filter((event) => event.event === 'approval.required').length;
const answerOf = async (thread: string, turn: string): Promise<string | undefined> =>
  (await app.detail(thread)).items.filter((item) => item.turn_id === turn && item.kind === 'agent_message').at(-1)?.detail;
const routinesOf = async (thread: string): Promise<string[]> =>
  (
    await app.store.db
      .selectFrom('routines')
      .innerJoin('threads', 'threads.chat_id', 'routines.chat_id')
      .select('routines.name')
      .where('threads.id', '=', thread)
      .orderBy('routines.name')
      .execute()
  ).map((row) => row.name);

describe('an approval', () => {
  it('is answered with "skip": the call is not run, and the work goes on without it', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('one')] }, { say: 'Told: $LAST' }]);
    await approval(thread);
    expect((await app.say(thread, 'Skip it.')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await answerOf(thread, turn)).toMatch(/^Told: Skipped by the person: workflow_create was not run/);
    expect(await routinesOf(thread)).toEqual([]);
  });

  it('is answered with "yes all": neither the rest of the step nor a later one is asked about', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('a'), create('b')] }, { call: [create('c')] }, { say: 'done' }]);
    await approval(thread);
    expect((await app.say(thread, 'yes, all')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await routinesOf(thread)).toEqual(['a', 'b', 'c']);
    expect(await asked(thread)).toBe(1);
    const next = await app.turn(thread, [{ call: [create('d')] }, { say: 'done' }]);
    expect((await app.ended(thread, next)).status).toBe('completed');
    expect(await asked(thread)).toBe(1);
  });

  it('of another chat is still asked for', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('x')] }, { say: 'done' }]);
    await approval(thread);
    expect((await app.say(thread, '👍🏽')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await routinesOf(thread)).toEqual(['x']);
  });

  it('is not answered by a sentence that has a yes in it', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('y')] }, { say: 'done' }]);
    await approval(thread);
    expect((await app.say(thread, 'yes all of this is wrong')).kind).toBe('steer');
    expect(await routinesOf(thread)).toEqual([]);
    expect((await app.say(thread, '👎')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await routinesOf(thread)).toEqual([]);
  });
});
