import { describe, expect, it } from 'vitest';
import { tokensText } from '../../../../src/domain/model/price-book.ts';
import { insertTask, setTaskState } from '../../../../src/store/kennel/tasks/tasks.ts';
import { activeWorkspace, recordWorkspaces } from '../../../../src/store/kennel/workspaces/workspaces.ts';
import { type SharedApp, useSharedApp } from '../../../support/shared-app.ts';
import { until } from '../../../support/until.ts';

/** What can be said without a model, over HTTP. */

let app: SharedApp;
useSharedApp(async (shared) => {
  // no host lists its workspaces here, so those of the tests stay
  app = shared;
  await recordWorkspaces(app.store.db, 'elsewhere', [
    { name: 'shop', path: '/w/shop' },
    { name: 'Notes', path: '/w/Notes' },
  ]);
});

/** The reply to words that need no model. */
async function told(thread: string, text: string): Promise<string> {
  const requests = app.model.requests().length;
  const said = await app.say(thread, text);
  expect(said.kind, text).toBe('reply');
  expect(app.model.requests().length).toBe(requests);
  return (await app.detail(thread)).items.filter((item) => item.kind === 'agent_message').at(-1)!.detail!;
}

const chatOf = async (thread: string): Promise<string> =>
  (await app.store.db.selectFrom('threads').select('chat_id').where('id', '=', thread).executeTakeFirstOrThrow())
    .chat_id;

describe('a command', () => {
  it('lists what there is, with what to say next', async () => {
    const thread = await app.thread();
    expect(await told(thread, 'Tasks?')).toMatch(/^No coding task is under way[\s\S]*I start one/);
    expect(await told(thread, '/schedules')).toContain('Nothing runs by itself in this chat');
    expect(await told(thread, '@fetch projects!')).toBe('- Notes\n- shop\n`project Notes` makes it the active one.');
    expect(await told(thread, 'help')).toContain('`help all`');
    const help = await told(thread, 'help all');
    for (const word of ['`tasks`', '`schedules`', '`projects`', '`usage`', '`model`', '`version`'])
      expect(help).toContain(word);
  });

  it('defect 5: lists the tasks of its chat and of no other', async () => {
    const { db } = app.store;
    const [thread, other] = [await app.thread(), await app.thread()];
    const chat_id = await chatOf(thread);
    const id = 'tsk_listed1';
    const at = {
      id,
      chat_id,
      call_id: `call_${id}`,
      workflow_id: `task/${id}`,
      goal: 'make\nit work',
      agent: 'practice',
      harness: 'practice' as const,
    };
    await insertTask(db, { ...at, host: 'elsewhere', workspace: 'shop', worktree: false, timeout_ms: 1000 });
    await setTaskState(db, id, 'running');
    const listed = await told(thread, 'tasks');
    expect(listed).toMatch(
      /^- 1: practice in shop: make it work \(at work for \d+ s\)\n`pause` freezes it, `stop` ends it\.$/,
    );
    expect(await told(other, 'tasks')).not.toContain('make it work');
    await db.updateTable('tasks').set({ state: 'completed', ended_at: new Date() }).where('id', '=', id).execute();
    expect(await told(thread, 'tasks')).toMatch(
      /No coding task is under way[\s\S]*Over:\n- 1: in shop: make it work \(done \d+ min ago\)\n`undo`/,
    );
  });

  it('makes a project the active one, and leaves sentences about something else to the model', async () => {
    const thread = await app.thread();
    expect(await told(thread, 'project notes')).toContain('Notes is the active project now');
    expect(await activeWorkspace(app.store.db, await chatOf(thread))).toEqual({ name: 'Notes', host: 'elsewhere' });
    expect(await told(thread, 'projects')).toContain('- Notes (active)');
    expect(await told(thread, '/project shpo')).toContain('There is no project shpo. Did you mean shop?');
    const { turn_id, kind } = await app.say(thread, 'project management');
    expect(kind).toBe('turn');
    await app.ended(thread, turn_id!);
  });

  it('says what was used, which model answers and which release this is', async () => {
    const thread = await app.thread();
    expect(await told(thread, 'usage')).toMatch(/^This chat, today: 0 tokens/);
    await app.ended(thread, await app.turn(thread, [{ say: 'Hello.' }]));
    const { tokens } = await app.store.db
      .selectFrom('spending')
      .select('tokens')
      .where('chat_id', '=', await chatOf(thread))
      .executeTakeFirstOrThrow();
    expect(tokens).toBeGreaterThan(0);
    const usage = await told(thread, 'usage');
    expect(usage).toContain(`This chat, today: ${tokensText(tokens)} tokens`);
    // it has spent nothing before today
    expect(usage).not.toContain('This chat, in all');
    expect(usage.match(/All chats/g) ?? []).toHaveLength(1);
    expect(await told(thread, 'model')).toMatch(/^scripted of 127\.0\.0\.1:\d+ answers[\s\S]*by scripted/);
    expect(await told(thread, 'Version')).toMatch(/^Fetch \d+\.\d+\.\d+/);
  });

  it('is the answer while a question is open, and the command with a slash', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'What shall the page show?', options: ['tasks', 'usage'] }]] },
      { say: 'You chose $LAST' },
    ]);
    await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
    expect(await told(thread, '/usage')).toContain('This chat, today');
    expect((await app.say(thread, 'usage')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    const answer = (await app.detail(thread)).items.findLast(
      (item) => item.turn_id === turn && item.kind === 'agent_message',
    );
    expect(answer?.detail).toBe('You chose usage');
  });

  it('takes back what tasks changed with the tool of the model, without the model and without a question', async () => {
    const thread = await app.thread();
    const requests = app.model.requests().length;
    expect(await told(thread, 'supervised')).toContain('I ask before everything');
    const { kind, turn_id } = await app.say(thread, 'Undo all!');
    expect(kind).toBe('turn');
    expect((await app.ended(thread, turn_id!)).status).toBe('completed');
    const asked = app.store.db.selectFrom('questions').select('id').where('thread_id', '=', thread);
    expect(await asked.execute()).toEqual([]);
    const answer = (await app.detail(thread)).items.findLast(
      (item) => item.turn_id === turn_id && item.kind === 'agent_message',
    );
    expect(answer?.detail).toMatch(/workspace/i);
    expect(app.model.requests().length).toBe(requests);
  });

  it('is never taken for words to a turn that waits for a yes', async () => {
    const thread = await app.thread();
    await told(thread, 'supervised');
    const turn = await app.turn(thread, [
      { call: [['workflow_create', { name: 'asked', steps: ['workflow_list'] }]] },
      { say: 'Done.' },
    ]);
    const { id } = await until('a yes is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
    expect(await told(thread, 'undo all')).toContain('I am still at work. Say `stop` first, then `undo all`.');
    expect((await app.request('POST', `/v1/approvals/${id}`, { decision: 'deny' })).status).toBeLessThan(300);
    const { steer_count } = await app.ended(thread, turn);
    expect(steer_count).toBe(0);
  });

  it('ends a schedule by its number', async () => {
    const thread = await app.thread();
    const steps = [
      { call: [['workflow_create', { name: 'look', steps: ['workflow_list'] }]] },
      { call: [['cron_create', { workflow: 'look', schedule: '0 9 * * *' }]] },
      { say: 'Done.' },
    ];
    await app.ended(thread, await app.turn(thread, steps));
    expect(await told(thread, 'schedules')).toMatch(/^1\. look: every day at 9:00, next /);
    expect(await told(thread, 'schedules remove 3')).toContain('Nothing of the name 3');
    const requests = app.model.requests().length;
    const { turn_id } = await app.say(thread, 'schedules remove 1');
    expect((await app.ended(thread, turn_id!)).status).toBe('completed');
    expect(await told(thread, 'schedules')).toContain('Nothing runs by itself');
    expect(app.model.requests().length).toBe(requests);
  });

  it('ends the only schedule without a question, and lists them where there are several', async () => {
    const thread = await app.thread();
    expect(await told(thread, 'stop schedule')).toContain('Nothing runs by itself');
    const steps = (name: string, minute: number) => [
      { call: [['workflow_create', { name, steps: ['workflow_list'] }]] },
      { call: [['cron_create', { workflow: name, schedule: `${minute} 9 * * *` }]] },
      { say: 'Done.' },
    ];
    await app.ended(thread, await app.turn(thread, steps('look', 1)));
    await app.ended(thread, await app.turn(thread, steps('tidy', 2)));
    expect(await told(thread, 'stop the schedule')).toMatch(/^1\. look: .*\n2\. tidy: .*\n.*schedules remove 1/);
    await app.ended(thread, (await app.say(thread, 'schedules remove tidy')).turn_id!);
    const requests = app.model.requests().length;
    const { turn_id } = await app.say(thread, 'Stop schedule.');
    expect((await app.ended(thread, turn_id!)).status).toBe('completed');
    expect(await told(thread, 'schedules')).toContain('Nothing runs by itself');
    expect(app.model.requests().length).toBe(requests);
  });

  it('defect 46: greets back at the beginning of a conversation, and leaves a later greeting to the model', async () => {
    const thread = await app.thread();
    expect(await told(thread, 'Good morning!')).toMatch(/^Hello! [\s\S]*Three things to try:\n1\. [\s\S]*`help`/);
    await app.ended(thread, await app.turn(thread, [{ say: 'Hello.' }]));
    const { kind, turn_id } = await app.say(thread, 'hi');
    expect(kind).toBe('turn');
    await app.ended(thread, turn_id!);
    await told(thread, '/new');
    expect(await told(thread, 'hi')).toContain('Hello!');
  });

  it('leaves the conversation behind with "clear"', async () => {
    const thread = await app.thread();
    await app.ended(thread, await app.turn(thread, [{ say: 'Hello.' }]));
    expect(await told(thread, 'Clear')).toContain('A new conversation');
  });
});
