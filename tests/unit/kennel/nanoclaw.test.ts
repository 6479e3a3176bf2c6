import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Host, Ipc } from '../../../kennel/agents/nanoclaw/ipc.ts';
import { OutputReader } from '../../../kennel/agents/nanoclaw/outputs.ts';
import { holds } from '../../support/property.ts';

const START = '---NANOCLAW_OUTPUT_START---';
const END = '---NANOCLAW_OUTPUT_END---';
const marked = (value: unknown) => `${START}\n${JSON.stringify(value)}\n${END}\n`;
const resultsOf = (text: string) => {
  const reader = new OutputReader();
  return [...reader.push(text), ...reader.end()].map(({ result }) => result);
};

describe('what an agent of NanoClaw says', () => {
  it('is what stands between whole marker lines, however the stream is cut', () => {
    const outputs = [
      { status: 'success', result: `a line\n${END}\nin a result`, newSessionId: 'one' },
      { status: 'success', result: 'grüße 🐕' },
    ];
    const text = `[agent-runner] starts\n${outputs.map(marked).join('between\n')}after`;
    holds(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 12 }), (cuts) => {
        const reader = new OutputReader();
        const ends = [0, ...cuts.sort((a, b) => a - b), text.length];
        const found = ends.slice(1).flatMap((end, at) => reader.push(text.slice(ends[at], end)));
        expect(found.map(({ result }) => result)).toEqual(outputs.map(({ result }) => result));
        expect(found[0]!.newSessionId).toBe('one');
      }),
    );
  });

  it.each([
    ['only for itself', { status: 'success', result: '<internal>I wait.</internal>' }, [null]],
    ['partly for itself', { status: 'success', result: ' Done.\n<internal>a\nb</internal> ' }, ['Done.']],
    [
      'left open',
      { status: 'success', result: `a ${'<internal>'.repeat(50_000)}` },
      [`a ${'<internal>'.repeat(50_000)}`],
    ],
    ['that it waits', { status: 'success', result: null }, [null]],
    ['no text', { status: 'success', result: { files: 2 } }, ['{"files":2}']],
    ['no output', { result: 'Done.' }, []],
    ['nothing', null, []],
  ])('when it is %s', (_, value, found) => expect(resultsOf(marked(value))).toEqual(found));

  it('is left out when it is no JSON, was begun again, or never ended', () => {
    expect(resultsOf(`${START}\n{"status":\n${END}\n`)).toEqual([]);
    expect(resultsOf(`${START}\nlost\n${marked({ status: 'success', result: 'kept' })}`)).toEqual(['kept']);
    expect(resultsOf(`${START}\n{"status":"success","result":"lost"}\n`)).toEqual([]);
    // the last line of a program that ends may have no end
    expect(resultsOf(marked({ status: 'success', result: 'kept' }).trimEnd())).toEqual(['kept']);
  });
});

describe('the files of an agent of NanoClaw', () => {
  const OWN = 'own@g.us';
  function setUp(away = false) {
    const folder = join(mkdtempSync(join(tmpdir(), 'ipc-')), 'ipc');
    const calls: Array<[name: string, args: object, key: string]> = [];
    const notes: string[] = [];
    const state = { away };
    const host: Host = {
      call: async (name, args, key) => {
        if (state.away) return null;
        if ((args as { text?: string }).text === 'poison') throw new Error('the host failed');
        calls.push([name, args, key]);
        return { text: 'done', ok: true };
      },
      snapshot: async (file) => (state.away ? null : `{"of":"${file}"}`),
    };
    const ipc = new Ipc(folder, OWN, host, (text) => notes.push(text));
    const put = (path: string, value: unknown) =>
      writeFileSync(join(folder, path), typeof value === 'string' ? value : JSON.stringify(value));
    const left = (name: string) => readdirSync(join(folder, name)).sort();
    return { folder, calls, notes, state, ipc, put, left };
  }
  const said = (text: string, more: object = {}) => ({ type: 'message', chatJid: OWN, text, ...more });

  it('are calls in the order of their names, each once', async () => {
    const { ipc, put, calls, left } = setUp();
    put('messages/2-b.json', said('two', { isMain: true, groupFolder: 'main' }));
    put('messages/1-a.json', said('one'));
    put('messages/3-c.json', said('elsewhere', { chatJid: 'other@g.us' }));
    put('messages/4-d.json.tmp', said('not there yet'));
    await Promise.all([ipc.drain(), ipc.drain()]);
    await ipc.drain();
    expect(calls.map(([name, args]) => [name, args])).toEqual([
      ['send_message', { text: 'one' }],
      ['send_message', { text: 'two' }],
      ['send_message', { text: 'elsewhere', chat: 'other@g.us' }],
    ]);
    expect(left('messages')).toEqual(['4-d.json.tmp']);
  });

  it('stay while the host is away, and have the same key when they are read again', async () => {
    const { ipc, put, calls, state, left } = setUp(true);
    put('messages/1.json', said('one'));
    put('tasks/1.json', { type: 'pause_task', taskId: 't', groupFolder: 'main', isMain: true });
    expect(await ipc.drain()).toBe(false);
    expect([left('messages'), left('tasks')]).toEqual([['1.json'], ['1.json']]);
    state.away = false;
    expect(await ipc.drain()).toBe(true);
    put('messages/1.json', said('one'));
    put('messages/2.json', said('one'));
    await ipc.drain();
    const keys = calls.filter(([name]) => name === 'send_message').map(([, , key]) => key);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(2);
    expect(calls.find(([name]) => name === 'pause_task')?.[1]).toEqual({ task_id: 't' });
  });

  it('are set aside when they are no JSON, no file, or too large', async () => {
    const { folder, ipc, put, calls, left } = setUp();
    put('messages/1.json', '{"type":');
    put('messages/2.json', 'null');
    put('messages/3.json', '[]');
    put('messages/4.json', said('x'.repeat(1_100_000)));
    symlinkSync('/etc/passwd', join(folder, 'messages/5.json'));
    mkdirSync(join(folder, 'tasks/6.json'));
    put('messages/7.json', said('after them'));
    expect(await ipc.drain()).toBe(true);
    expect(left('errors')).toEqual([...[1, 2, 3, 4, 5].map((n) => `messages-${n}.json`), 'tasks-6.json']);
    expect(calls.map(([, args]) => args)).toEqual([{ text: 'after them' }]);
    expect([left('messages'), left('tasks')]).toEqual([[], []]);
  });

  it('are set aside when the host fails at one again and again, so that the others go on', async () => {
    const { ipc, put, calls, left } = setUp();
    put('messages/1.json', said('poison'));
    put('messages/2.json', said('after it'));
    for (let n = 1; n < 5; n += 1) expect(await ipc.drain()).toBe(false);
    expect(await ipc.drain()).toBe(true);
    expect([left('errors'), calls.map(([, args]) => args)]).toEqual([['messages-1.json'], [{ text: 'after it' }]]);
  });

  it.each([{ type: 'message', chatJid: OWN, text: 7 }, { type: 'message', text: 'to nobody' }, { type: 'something' }])(
    'are left out with a note when they are no known call: %j',
    async (value) => {
      const { ipc, put, calls, notes, left } = setUp();
      put('messages/1.json', value);
      await ipc.drain();
      expect([calls, left('messages'), left('errors')]).toEqual([[], [], []]);
      expect(notes).toHaveLength(1);
    },
  );

  const schedule = { type: 'schedule_task', prompt: 'do it', schedule_type: 'cron', schedule_value: '0 9 * * *' };
  it.each([
    [
      { ...schedule, targetJid: OWN, taskId: 'task-1' },
      { context_mode: 'isolated', task_id: 'task-1' },
    ],
    [{ ...schedule, targetJid: OWN, context_mode: 'group' }, { context_mode: 'group' }],
    [
      { ...schedule, targetJid: 'b@g.us', createdBy: 'main' },
      { context_mode: 'isolated', target_group_jid: 'b@g.us' },
    ],
  ])('schedule a prompt: %j', async (value, expected) => {
    const { ipc, put, calls } = setUp();
    put('tasks/1.json', value);
    await ipc.drain();
    const { type, prompt, schedule_type, schedule_value } = schedule;
    expect(calls.map(([name, args]) => [name, args])).toEqual([
      [type, { prompt, schedule_type, schedule_value, ...expected }],
    ]);
  });

  it.each([
    [{ ...schedule }, /targetJid/],
    [{ ...schedule, targetJid: OWN, script: 'true' }, /script/],
    [{ type: 'cancel_task' }, /taskId/],
    [{ type: 'register_group', jid: 'a' }, /folder/],
  ])('are refused with what they lack: %j', async (value, why) => {
    const { ipc, put, notes, left } = setUp();
    put('tasks/1.json', value);
    await ipc.drain();
    expect([left('tasks'), notes]).toEqual([[], [expect.stringMatching(why)]]);
  });

  it('tell the agent of groups and schedules as they are now, and of nothing while the host is away', async () => {
    const { folder, ipc, put, state } = setUp();
    put('tasks/1.json', { type: 'refresh_groups' });
    await ipc.drain();
    const file = join(folder, 'available_groups.json');
    expect(readFileSync(file, 'utf8')).toBe('{"of":"available_groups.json"}');
    expect(existsSync(join(folder, 'current_tasks.json'))).toBe(true);
    state.away = true;
    await ipc.refresh();
    expect(readFileSync(file, 'utf8')).toBe('{"of":"available_groups.json"}');
  });

  it('have follow-ups in the order in which they were written, and the word to end until it is heard', async () => {
    const { folder, ipc, left } = setUp();
    const written = [ipc.followUp('one'), ipc.followUp('two')];
    expect(left('input').map((name) => JSON.parse(readFileSync(join(folder, 'input', name), 'utf8')))).toEqual([
      { type: 'message', text: 'one' },
      { type: 'message', text: 'two' },
    ]);
    expect(written.map((path) => path.split('/').at(-1))).toEqual(left('input'));
    const gone = Promise.withResolvers<void>();
    const closed = ipc.closeUntil(gone.promise);
    expect(left('input')).toContain('_close');
    gone.resolve();
    await closed;
    expect(left('input')).not.toContain('_close');
  });
});
