import { describe, expect, it } from 'vitest';
import { type SharedApp, useSharedApp } from '../../../support/shared-app.ts';
import { until } from '../../../support/until.ts';

let app: SharedApp;
useSharedApp((shared) => {
  app = shared;
}, 'supervised');

const create = (name: string) => ['workflow_create', { name, steps: ['workflow_list'] }];
const approval = (thread: string) =>
  until('an approval is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
const asked = async (thread: string): Promise<number> =>
  (await app.events(thread)).filter((event) => event.event === 'approval.required').length;
const answerOf = async (thread: string, turn: string): Promise<string | undefined> =>
  (await app.detail(thread)).items.filter((item) => item.turn_id === turn && item.kind === 'agent_message').at(-1)
    ?.detail;
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

/** A second question in the thread, as a coding task would have it. */
async function anotherQuestion(
  thread: string,
  id: string,
  number: number,
  deliveredAt: Date | null,
  turnId?: string,
): Promise<void> {
  const first = await app.store.db
    .selectFrom('questions')
    .select(['chat_id', 'turn_id'])
    .where('thread_id', '=', thread)
    .executeTakeFirstOrThrow();
  const fields = {
    ...first,
    ...(turnId && { turn_id: turnId }),
    id,
    thread_id: thread,
    number,
    kind: 'approval' as const,
    prompt: 'Push demo to GitHub?',
    options: '[]',
    state: 'open' as const,
  };
  await app.store.db
    .insertInto('questions')
    .values({ ...fields, delivered_at: deliveredAt, decision: null, answer: null, decided_at: null })
    .execute();
}
const openIds = async (thread: string) =>
  (
    await app.store.db
      .selectFrom('questions')
      .select('id')
      .where('thread_id', '=', thread)
      .where('state', '=', 'open')
      .orderBy('number')
      .execute()
  ).map((row) => row.id);
const lastReply = async (thread: string): Promise<string | undefined> =>
  (await app.detail(thread)).items.findLast((item) => item.kind === 'agent_message')?.detail;

describe('a bare yes', () => {
  it('decides nothing where several questions were shown: it is asked which, and a number names one', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('first')] }, { say: 'done' }]);
    const { id } = await approval(thread);
    await anotherQuestion(thread, `other_${thread}`, 2, new Date(0));
    expect((await app.say(thread, 'yes')).kind).toBe('reply');
    expect(await lastReply(thread)).toBe(
      'Which one do you mean?\n1. Save the routine "first"?\n2. Push demo to GitHub?\nName its number, for example "yes 1", or quote the question.',
    );
    expect(await openIds(thread)).toEqual([id, `other_${thread}`]);
    expect((await app.say(thread, 'no 2')).kind).toBe('answer');
    expect(await openIds(thread)).toEqual([id]);
    expect((await app.say(thread, 'yes')).kind).toBe('answer');
    await app.ended(thread, turn);
    expect(await routinesOf(thread)).toEqual(['first']);
  });

  it('goes to the question that was shown, and never to one that was not', async () => {
    const thread = await app.thread();
    const before = await app.turn(thread, [{ say: 'hello' }]);
    await app.ended(thread, before);
    const turn = await app.turn(thread, [{ call: [create('seen')] }, { say: 'done' }]);
    await approval(thread);
    await anotherQuestion(thread, `unseen_${thread}`, 2, null, before);
    expect((await app.say(thread, 'yes')).kind).toBe('answer');
    await app.ended(thread, turn);
    expect(await routinesOf(thread)).toEqual(['seen']);
    // the second one, a moment later
    expect((await app.say(thread, 'yes')).kind).toBe('reply');
    expect(await lastReply(thread)).toMatch(
      /^That came before you could read the question, so it decides nothing\. It is:\n2\. Push demo to GitHub\?/,
    );
    expect(await openIds(thread)).toEqual([`unseen_${thread}`]);
  });
});

describe('a bare yes from a screen that says what it shows', () => {
  const written = async (thread: string, text: string, displayed: Array<{ id: string; ms: number }>) =>
    ((await app.request('POST', `/v1/threads/${thread}/messages`, { text, displayed })).body as { kind: string }).kind;

  it('counts for exactly what is on it', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('shown')] }, { say: 'done' }]);
    const { id } = await approval(thread);
    await anotherQuestion(thread, `elsewhere_${thread}`, 2, new Date(0));
    expect(await written(thread, 'yes', [])).toBe('reply');
    expect(await lastReply(thread)).toMatch(/^That came before you could read the question/);
    expect(await written(thread, 'yes 2', [{ id, ms: 5_000 }])).toBe('reply');
    expect(await openIds(thread)).toEqual([id, `elsewhere_${thread}`]);
    expect(await written(thread, 'yes', [{ id, ms: 5_000 }])).toBe('answer');
    await app.ended(thread, turn);
    expect(await routinesOf(thread)).toEqual(['shown']);
  });
});

describe('words beside an approval while no turn runs', () => {
  it('are told to be unclear where they look like an answer, and are a message where they do not', async () => {
    const thread = await app.thread();
    await app.ended(
      thread,
      await app.turn(thread, [{ call: [create('before')] }, { say: 'done' }]).then(async (turn) => {
        await approval(thread);
        await app.say(thread, 'no');
        return turn;
      }),
    );
    await anotherQuestion(thread, `task_${thread}`, 2, new Date(0));
    expect((await app.say(thread, 'yes, but not the tests')).kind).toBe('reply');
    expect(await lastReply(thread)).toMatch(
      /^This is still open, and nothing is done before it is answered:\n2\. Push demo to GitHub\?/,
    );
    const { kind, turn_id } = await app.say(thread, 'tell me which files are in that push');
    expect(kind).toBe('turn');
    await app.ended(thread, turn_id!);
    expect(await openIds(thread)).toEqual([`task_${thread}`]);
  });
});

describe('a word for a list', () => {
  it('lists while an approval waits, which stays open, and is the answer to a question', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('listed')] }, { say: 'done' }]);
    const { id } = await approval(thread);
    for (const [word, told] of [
      ['schedules', /^Nothing runs by itself/],
      ['tasks', /No coding task/],
      ['memories', /^I remember nothing here/],
      ['usage', /^This chat, today/],
    ] as const) {
      expect((await app.say(thread, word)).kind).toBe('reply');
      expect(await lastReply(thread)).toMatch(told);
    }
    expect(await openIds(thread)).toEqual([id]);
    await app.say(thread, 'yes');
    await app.ended(thread, turn);
    expect(await routinesOf(thread)).toEqual(['listed']);
  });
});

describe('a word for the policy', () => {
  it('is the answer while a question is open, and needs its slash to be more', async () => {
    const thread = await app.thread();
    const autonomy = async () =>
      (
        await app.store.db
          .selectFrom('chats')
          .innerJoin('threads', 'threads.chat_id', 'chats.id')
          .select('autonomy')
          .where('threads.id', '=', thread)
          .executeTakeFirstOrThrow()
      ).autonomy;
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Which mode has the new door?', options: ['Manual', 'Autonomous'] }]] },
      { say: 'Told: $LAST' },
    ]);
    await until('it is asked', async () => (await app.detail(thread)).pending_user_inputs[0]);
    expect((await app.say(thread, 'Autonomous')).kind).toBe('answer');
    await app.ended(thread, turn);
    expect(await answerOf(thread, turn)).toBe('Told: Autonomous');
    expect(await autonomy()).toBe('supervised');
    const next = await app.turn(thread, [{ call: [create('z')] }, { say: 'done' }]);
    await approval(thread);
    expect((await app.say(thread, 'autonomous')).kind).toBe('steer');
    expect(await autonomy()).toBe('supervised');
    expect((await app.say(thread, '/cautious')).kind).toBe('reply');
    expect(await autonomy()).toBe('cautious');
    await app.say(thread, 'no');
    await app.ended(thread, next);
  });
});

describe('an approval that is longer than a page', () => {
  const steps = Array.from({ length: 30 }, (_, index) => ({
    name: `${'long '.repeat(14)}s-${index}`,
    tool: 'workflow_list',
    args: {},
  }));

  it('is read on with "more", and is not allowed by a yes before its end', async () => {
    const thread = (await app.request('GET', '/v1/console')).body as { id: string };
    const turn = await app.turn(thread.id, [{ call: [['workflow_create', { name: 'long', steps }]] }, { say: 'done' }]);
    const { id } = await approval(thread.id);
    expect((await app.say(thread.id, 'yes')).kind).toBe('reply');
    expect(await lastReply(thread.id)).toMatch(/^You have seen only the beginning of it\. Say "more" to read on/);
    const pages: string[] = [];
    const { evidence } = await app.store.db
      .selectFrom('questions')
      .select('evidence')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const shown = ((await app.detail(thread.id)).pending_approvals[0] as unknown as { evidence: string }).evidence;
    for (let page = ''; !page.endsWith('\n\nAnswer yes, no, or "always" to stop asking.'); pages.push(page)) {
      expect((await app.say(thread.id, 'more')).kind).toBe('reply');
      page = (await lastReply(thread.id))!;
    }
    const read = pages.map((page) => page.slice(4, page.lastIndexOf('\n```')));
    const flat = (text: string) => text.replaceAll('\n', '');
    expect(flat([shown, ...read].join(''))).toBe(flat(evidence!));
    expect(read.at(-1)).toContain('s-29');
    expect((await app.say(thread.id, 'yes')).kind).toBe('answer');
    await app.ended(thread.id, turn);
    const by = await app.store.db
      .selectFrom('questions')
      .select('decided_by')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(by.decided_by).toEqual({ role: 'terminal', channel: 'console' });
  });
});

describe('an approval', () => {
  it('is answered with "skip": the call is not run, and the work goes on without it', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [create('one')] }, { say: 'Told: $LAST' }]);
    await approval(thread);
    expect((await app.say(thread, 'Skip it.')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await answerOf(thread, turn)).toMatch(/^Told: Skipped by the person: nothing was run/);
    expect(await routinesOf(thread)).toEqual([]);
  });

  it('is answered with "yes all": neither the rest of the step nor a later one is asked about', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [create('a'), create('b')] },
      { call: [create('c')] },
      { say: 'done' },
    ]);
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
    const told = await until('it is told that this decides nothing', async () =>
      (await app.detail(thread)).items.find(
        (item) => item.kind === 'status' && item.detail?.startsWith('This is still open'),
      ),
    );
    expect(told.detail).toBe(
      'This is still open, and nothing is done before it is answered:\n1. Save the routine "y"?\nAnswer yes, no, or "always" to stop asking.',
    );
    const notice = app.store.db
      .selectFrom('outbox')
      .select('state')
      .where('thread_id', '=', thread)
      .where('kind', '=', 'notice');
    await until('it is sent', async () => (await notice.executeTakeFirst())?.state === 'sent');
    expect(await routinesOf(thread)).toEqual([]);
    expect((await app.say(thread, '👎')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await routinesOf(thread)).toEqual([]);
  });
});
