import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chat } from '../../../src/cli/chat/chat.ts';
import type { ChatOptions } from '../../../src/cli/chat/input/session.ts';
import { loadHistory, rememberMessage } from '../../../src/cli/chat/screen/history.ts';
import { elapsed, plain, styledText } from '../../../src/cli/chat/screen/text.ts';
import { Running } from '../../../src/cli/chat/view/running.ts';
import { run as runChat } from '../../../src/cli/setup/open-chat.ts';
import { loadConfig } from '../../../src/config.ts';
import { chatServer, until } from './chat-server.ts';

let server: Awaited<ReturnType<typeof chatServer>>;
let home: string;
let leaves: Array<() => void>;
beforeEach(async () => {
  server = await chatServer();
  home = mkdtempSync(join(tmpdir(), 'fetch-chat-'));
  leaves = [];
});
afterEach(async () => {
  for (const leave of leaves) leave();
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

function open(tty: boolean, more: Partial<ChatOptions> = {}) {
  const input = Object.assign(new PassThrough(), { isTTY: tty, setRawMode: () => input });
  const output = Object.assign(new PassThrough(), { isTTY: tty, columns: 80, rows: 24 });
  let raw = '';
  output.on('data', (chunk) => {
    raw += chunk;
  });
  const leave = new AbortController();
  leaves.push(() => leave.abort());
  const state = { left: false };
  const done = chat({
    baseUrl: server.baseUrl,
    token: 'right',
    input,
    output,
    dumb: false,
    home,
    ...more,
    signal: leave.signal,
    onLeave: () => Object.assign(state, { left: true }),
  });
  done.catch(() => {});
  return {
    input,
    done,
    state,
    raw: () => raw,
    text: () => stripVTControlCharacters(raw),
    type: (line: string) => void input.write(line),
  };
}
const connected = () => until('a connection', () => server.streams.size === 1);
const shows = (chat: { text: () => string }, what: string) =>
  until(`"${what}" on the screen`, () => chat.text().includes(what));
const times = (text: string, part: string) => text.split(part).length - 1;

describe('lines from a script', () => {
  test('are sent one after the other, each when the last one is answered, and the end of input ends the chat after the last answer', async () => {
    server.state.onSay = ({ text }) => {
      const id = text === 'one' ? 'turn_1' : 'turn_2';
      server.startTurn(id, text);
      setImmediate(() => {
        expect(server.said.at(-1)!.text).toBe(text);
        server.answer(id, `answer to ${text}`);
        server.endTurn(id);
      });
      return { kind: 'turn' };
    };
    const script = open(false);
    script.input.end('one\n\ntwo');
    await script.done;
    expect(script.raw()).toBe('answer to one\nanswer to two\n');
    expect(script.state.left).toBe(true);
  });

  test('answer a question that is asked meanwhile', async () => {
    server.state.onSay = ({ text }) => {
      if (text === 'deploy') {
        server.startTurn('turn_1', text);
        server.ask('turn_1', 'qst_1', 'Where to?', ['staging', 'production']);
        return { kind: 'turn' };
      }
      server.state.pending_user_inputs = [];
      server.emit('user_input.answered', { input_id: 'qst_1' }, { turn: 'turn_1' });
      server.answer('turn_1', 'deployed');
      server.endTurn('turn_1');
      return { kind: 'answer' };
    };
    const script = open(false);
    script.input.end('deploy\n2\n');
    await script.done;
    expect(script.text()).toContain('? Where to?\n  1. staging\n  2. production\n');
    expect(script.text().trimEnd().endsWith('deployed')).toBe(true);
    expect(server.said.map((message) => message.text)).toEqual(['deploy', '2']);
  });

  test('get through as "stop" while a turn runs', async () => {
    server.state.onSay = ({ text }) => {
      if (text === 'long') server.startTurn('turn_1', text);
      else server.endTurn('turn_1', 'interrupted');
      return { kind: text === 'long' ? 'turn' : 'stop' };
    };
    const script = open(false);
    script.input.end('long\nstop\n');
    await script.done;
    expect(server.said.map((message) => message.text)).toEqual(['long', 'stop']);
    expect(script.text()).toContain('Stopped. What was done is kept.');
  });

  test('are answered although the stream and an acknowledgement were lost', async () => {
    server.state.loseAcknowledgements = 1;
    server.state.onSay = ({ text }) => {
      server.dropStreams();
      server.startTurn('turn_1', text);
      server.answer('turn_1', 'here I am');
      server.endTurn('turn_1');
      return { kind: 'turn' };
    };
    const script = open(false);
    await connected();
    script.input.end('hello\n');
    await script.done;
    expect(times(script.text(), 'here I am')).toBe(1);
    expect(new Set(server.said.map((message) => message.key)).size).toBe(1);
    expect(script.text()).toContain('reconnecting…');
  });
});

describe('a terminal', () => {
  test('shows what was said before, and a question that is still open', async () => {
    server.state.items = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((text, index) =>
      server.item(`i${index}`, 'turn_0', index % 2 ? 'agent_message' : 'user_message', 'completed', `said ${text}`),
    );
    server.state.turns = [server.turn('turn_1', 'in_progress')];
    server.state.pending_user_inputs = [
      {
        id: 'qst_1',
        request: {
          questions: [{ id: 'qst_1', question: 'Deploy now?', options: [{ label: 'yes' }, { label: 'later' }] }],
        },
      },
    ];
    const terminal = open(true);
    await shows(terminal, 'waiting for your answer');
    expect(terminal.text()).not.toContain('said a');
    expect(terminal.text()).toContain('said b');
    expect(terminal.text()).toContain('said g');
    expect(terminal.text()).toMatch(/\? Deploy now\?\r?\n {2}1\. yes\r?\n {2}2\. later/);
  });

  test('shows text as it is written and keeps the line that is being typed', async () => {
    const terminal = open(true);
    await connected();
    server.startTurn('turn_1', 'from elsewhere');
    await shows(terminal, '› from elsewhere');
    terminal.type('half a thou');
    server.emit(
      'item.started',
      { item: server.item('i1', 'turn_1', 'agent_message', 'in_progress', '') },
      { turn: 'turn_1', item: 'i1' },
    );
    for (const delta of ['Hel', 'lo\nwor'])
      server.emit('item.delta', { delta, kind: 'agent_message' }, { turn: 'turn_1', item: 'i1' });
    await shows(terminal, 'wor\n› half a thou');
    server.answer('turn_1', 'Hello\nworld', 'i1');
    server.endTurn('turn_1');
    await until('the finished answer', () => terminal.text().includes('world\n'));
    server.state.onSay = () => ({ kind: 'turn' });
    terminal.type('ght\r');
    await until('the typed line', () => server.said.length === 1);
    expect(server.said[0]!.text).toBe('half a thought');
  });

  test('begins an empty chat with three things to try, and another one with what was said', async () => {
    server.state.things_to_try = ['`one` to begin', 'two', 'three'];
    const empty = open(true);
    await shows(empty, '3. three');
    expect(empty.text()).toMatch(/Three things to try:\r?\n {2}1\. `?one`? to begin/);
    server.state.items = [server.item('i0', 'turn_0', 'user_message', 'completed', 'said before')];
    const another = open(true);
    await shows(another, 'said before');
    expect(another.text()).not.toContain('things to try');
  });

  test('says when it came what nobody saw, and equal messages once', async () => {
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    server.state.turns = [server.turn('turn_0', 'completed')];
    const item = (id: string, text: string, ended_at: string) => ({
      ...server.item(id, 'turn_0', 'agent_message', 'completed', text),
      ended_at,
    });
    server.state.items = [item('i0', 'seen already', hoursAgo(50))];
    const first = open(true);
    await shows(first, 'seen already');
    await connected();
    first.type('\x04');
    await first.done;
    for (const hours of [4, 3, 2]) server.state.items.push(item(`i${hours}`, 'the disk is full', hoursAgo(hours)));
    const second = open(true);
    await shows(second, 'the disk is full');
    expect(second.text()).toContain('── while you were away ──');
    expect(second.text()).toMatch(/\d\d:\d\d \(3 times, last (yesterday )?\d\d:\d\d\):\r?\nthe disk is full/);
    expect(times(second.text(), 'the disk is full')).toBe(1);
    second.type('\x04');
    await second.done;
    const third = open(true);
    await shows(third, 'the disk is full');
    expect(third.text()).not.toContain('while you were away');
  });

  test('knows an answer again that it has shown, though it ended after the event that told of it', async () => {
    const first = open(true);
    await connected();
    const ended_at = new Date(Date.now() + 50).toISOString();
    const answer = { ...server.item('i1', 'turn_1', 'agent_message', 'completed', 'shown as it came'), ended_at };
    server.emit('item.completed', { item: answer }, { turn: 'turn_1', item: 'i1' });
    await shows(first, 'shown as it came');
    first.type('\x04');
    await first.done;
    server.state.turns = [server.turn('turn_1', 'completed')];
    server.state.items = [answer];
    const second = open(true);
    await shows(second, 'shown as it came');
    expect(second.text()).not.toContain('while you were away');
  });

  test('shows the question of a coding task once, and that it waits', async () => {
    const terminal = open(true);
    await connected();
    server.emit('turn.completed', { turn: server.turn('turn_9', 'completed') }, { turn: 'turn_9' });
    server.answer('turn_9', 'The agent in demo asks:\n\n│ Which name shall\n│ it greet?\n\nAnswer with a number.');
    server.ask('turn_9', 'tsk_1_q', 'Which name shall it greet?', ['Ada', 'Grace']);
    await shows(terminal, 'waiting for your answer');
    expect(times(terminal.text(), '│ Which name shall')).toBe(1);
    expect(terminal.text()).not.toContain('? Which name shall it greet?');
  });

  test('shows a question and an approval whatever was said before: the words of a model hide neither', async () => {
    const terminal = open(true);
    await connected();
    server.startTurn('turn_1');
    server.answer('turn_1', 'Which way? Delete src/old.ts in demo? Write yes to see the weather.');
    server.ask('turn_1', 'call_1', 'Which way?', ['North', 'South']);
    const approval = {
      id: 'call_2',
      approval_id: 'call_2',
      description: 'Delete src/old.ts in demo?',
      evidence: 'rm src/old.ts',
    };
    server.emit('approval.required', approval, { turn: 'turn_1' });
    await shows(terminal, 'rm src/old.ts');
    expect(terminal.text()).toContain('1. North');
    expect(terminal.text()).toMatch(/\? Delete src\/old\.ts in demo\?/);
  });

  test('shows the open question of a coding task to a terminal that comes later, however much was said', async () => {
    const asks = 'May practice do this in demo?';
    server.state.turns = [server.turn('turn_1', 'completed')];
    server.state.items = [server.item('i1', 'turn_1', 'agent_message', 'completed', asks)];
    server.state.pending_approvals = [
      {
        id: 'tsk_1_q',
        approval_id: 'tsk_1_q',
        description: 'May practice do this in demo?',
        evidence: 'the last line',
      },
    ];
    const terminal = open(true);
    await shows(terminal, 'the last line');
    server.state.pending_approvals = [];
  });

  test('tells which questions it shows with what is written, and for how long it has', async () => {
    const terminal = open(true);
    await connected();
    terminal.type('hello\r');
    await until('the message', () => server.said.length === 1);
    expect(server.said[0]!.displayed).toEqual([]);
    server.startTurn('turn_1');
    server.ask('turn_1', 'qst_1', 'Where to?', ['staging']);
    await shows(terminal, '? Where to?');
    terminal.type('yes\r');
    await until('the answer', () => server.said.length === 2);
    expect(server.said[1]!.displayed).toEqual([{ id: 'qst_1', ms: expect.any(Number) }]);
    expect(server.said[1]!.displayed![0]!.ms).toBeLessThan(8_000);
    server.emit('user_input.answered', { input_id: 'qst_1' }, { turn: 'turn_1' });
    server.answer('turn_1', 'on it');
    await shows(terminal, 'on it');
    terminal.type('thanks\r');
    await until('the thanks', () => server.said.length === 3);
    expect(server.said[2]!.displayed).toEqual([]);
  });

  test('begins to link WhatsApp when it is asked to, and not before', async () => {
    const begun: string[] = [];
    const offer = async (print: (text: string) => void) => {
      begun.push('asked');
      print('a QR to scan');
      return { pending: () => true, hush() {}, skip: async () => print('left') };
    };
    const terminal = open(true, { offer });
    await connected();
    terminal.type('hello\r');
    await until('the message', () => server.said.length === 1);
    expect(begun).toEqual([]);
    terminal.type('WhatsApp\r');
    await shows(terminal, 'a QR to scan');
    terminal.type('/skip\r');
    await shows(terminal, 'left');
    expect(server.said).toHaveLength(1);
  });

  test('does not repeat what was typed here', async () => {
    server.state.onSay = ({ text }) => {
      server.startTurn('turn_1', text);
      server.answer('turn_1', 'hi');
      return { kind: 'turn' };
    };
    const terminal = open(true);
    await connected();
    terminal.type('hello there\r');
    await shows(terminal, 'hi\n');
    const once = times(terminal.text(), 'hello there');
    server.startTurn('turn_2', 'hello there');
    await until(
      'the same text from elsewhere',
      () => times(terminal.text(), '› hello there') > 1 && times(terminal.text(), 'hello there') > once,
    );
  });

  test('says what runs and when an answer starts over', async () => {
    const terminal = open(true);
    await connected();
    server.startTurn('turn_1');
    await shows(terminal, 'thinking, 0 s');
    const tool = server.item('i1', 'turn_1', 'tool_call', 'in_progress', '');
    server.emit(
      'item.started',
      { item: tool, tool: { id: 'c1', name: 'web_fetch', input: { url: 'https://example.com' } } },
      { turn: 'turn_1', item: 'i1' },
    );
    await shows(terminal, 'reading a page https://example.com, 0 s');
    server.emit(
      'item.failed',
      { item: { ...tool, status: 'failed', summary: 'web_fetch: no route' } },
      { turn: 'turn_1', item: 'i1' },
    );
    await shows(terminal, '✗ Reading a page: no route (failed');
    const wrong = server.item('i1b', 'turn_1', 'command_execution', 'in_progress', '');
    const call = { id: 'c2', name: 'shell_run', input: { workspace: 'demo', command: 'git commit' } };
    server.emit('item.started', { item: wrong, tool: call }, { turn: 'turn_1', item: 'i1b' });
    await shows(terminal, 'running: git commit, 0 s');
    const refused = 'The arguments of shell_run are not right:\n✖ Unrecognized key: "description"';
    server.emit(
      'item.failed',
      { item: { ...wrong, status: 'failed', summary: `shell_run: ${refused}`, detail: refused } },
      { turn: 'turn_1', item: 'i1b' },
    );
    const message = (id: string, status: 'in_progress' | 'interrupted') =>
      server.item(id, 'turn_1', 'agent_message', status, '');
    server.emit('item.started', { item: message('i2', 'in_progress') }, { turn: 'turn_1', item: 'i2' });
    server.emit('item.delta', { delta: 'The answ', kind: 'agent_message' }, { turn: 'turn_1', item: 'i2' });
    server.emit('item.interrupted', { item: message('i2', 'interrupted') }, { turn: 'turn_1', item: 'i2' });
    server.emit('item.started', { item: message('i3', 'in_progress') }, { turn: 'turn_1', item: 'i3' });
    await shows(terminal, '(starting over)');
    server.endTurn('turn_1', 'failed', 'The model endpoint does not answer.');
    await shows(terminal, 'This turn failed: The model endpoint does not answer.');
    expect(terminal.text()).not.toContain('are not right');
    server.startTurn('turn_2');
    const why = { ...server.item('i4', 'turn_2', 'error', 'failed', ''), detail: 'The disk is full.' };
    server.emit('item.failed', { item: why }, { turn: 'turn_2', item: 'i4' });
    server.endTurn('turn_2', 'failed', 'The disk is full.');
    const last = { ...server.item('i5', 'turn_2', 'status', 'completed', ''), detail: 'That was all.' };
    server.emit('item.completed', { item: last }, { turn: 'turn_2', item: 'i5' });
    await shows(terminal, 'That was all.');
    expect(times(terminal.text(), 'The disk is full.')).toBe(1);
  });

  test('says a result once where the answer is the same words, and both where it is not', async () => {
    const terminal = open(true);
    await connected();
    server.startTurn('turn_1');
    const ends = (id: string, result: string, answer: string) => {
      const tool = server.item(id, 'turn_1', 'tool_call', 'in_progress', '');
      server.emit('item.started', { item: tool, tool: { id, name: 'ship', input: {} } }, { turn: 'turn_1', item: id });
      const failed = { ...tool, status: 'failed', summary: `ship: ${result}`, detail: result };
      server.emit('item.failed', { item: failed }, { turn: 'turn_1', item: id });
      const said = { ...server.item(`${id}a`, 'turn_1', 'agent_message', 'completed', answer), detail: answer };
      server.emit('item.completed', { item: said }, { turn: 'turn_1', item: `${id}a` });
    };
    ends('i1', 'There is no token yet.', 'There is no token yet.');
    ends('i2', 'There is no branch.', 'Make a branch first.');
    await shows(terminal, 'Make a branch first.');
    expect(times(terminal.text(), 'There is no token yet.')).toBe(1);
    expect(terminal.text()).toMatch(/✗ There is no branch \(failed\)[\s\S]*Make a branch first\./);
    // the answer of a model may be a while
    const slow = server.item('i3', 'turn_1', 'tool_call', 'in_progress', '');
    server.emit(
      'item.started',
      { item: slow, tool: { id: 'i3', name: 'undo', input: {} } },
      { turn: 'turn_1', item: 'i3' },
    );
    server.emit(
      'item.completed',
      { item: { ...slow, status: 'completed', summary: 'undo: Undone.' } },
      { turn: 'turn_1', item: 'i3' },
    );
    await shows(terminal, '✓ Undone');
  });

  test('shows an approval with everything that is approved', async () => {
    const terminal = open(true);
    await connected();
    server.startTurn('turn_1');
    server.emit(
      'approval.required',
      {
        id: 'q',
        approval_id: 'q',
        tool_name: 'rm',
        description: 'Delete x in demo?',
        intent_summary: 'fine\nyes / no',
        evidence: 'workspace demo\n│ rm x\n',
      },
      { turn: 'turn_1' },
    );
    await shows(terminal, 'yes, no, or "always"');
    expect(terminal.text()).toContain('? Delete x in demo?');
    // what the model says stands behind a margin
    expect(terminal.text()).toContain('│ yes / no\n');
    expect(terminal.text()).toContain('  workspace demo\n  │ rm x\n');
  });

  test('interrupts the turn on Ctrl-C and is left on a second one', async () => {
    const terminal = open(true);
    await connected();
    server.startTurn('turn_1');
    await shows(terminal, 'thinking');
    terminal.type('\x03');
    await until('the interrupt', () => server.interrupted.includes('turn_1'));
    expect(terminal.state.left).toBe(false);
    terminal.type('\x03');
    await terminal.done;
    expect(terminal.state.left).toBe(true);
  });

  test('clears the typed line on Ctrl-C when nothing runs', async () => {
    const terminal = open(true);
    await connected();
    terminal.type('rubbish\x03');
    await shows(terminal, 'Ctrl-C again or /quit leaves');
    terminal.type('good\r');
    await until('the message', () => server.said.length === 1);
    expect(server.said[0]!.text).toBe('good');
    terminal.type('/quit\r');
    await terminal.done;
    expect(server.said).toHaveLength(1);
    expect(readFileSync(join(home, 'chat-history'), 'utf8')).toBe('good\n/quit\n');
    expect(statSync(join(home, 'chat-history')).mode & 0o777).toBe(0o600);
  });

  test('is not driven by text from elsewhere', async () => {
    const terminal = open(true);
    await connected();
    server.startTurn('turn_1');
    server.answer('turn_1', 'safe \x1b[2Jtext \x1b]0;title\x07and \x9b31mmore\u202e end');
    await shows(terminal, 'safe text');
    expect(terminal.raw()).not.toMatch(/\x1b\[2J|\x1b\]|\x9b|\u202e/);
  });
});

describe('fetch chat', () => {
  const config = (port: string) =>
    loadConfig({ FETCH_HOME: home, FETCH_RUNTIME_PORT: port, FETCH_RUNTIME_TOKEN: 'wrong' }, {});

  test('says how to start when nothing answers', async () => {
    await expect(runChat(config('9'))).rejects.toThrow(/No Fetch answers at http:\/\/127\.0\.0\.1:9: .*fetch start/);
  });

  test('says where the token is when it is refused', async () => {
    writeFileSync(join(home, 'run.json'), JSON.stringify({ urls: { runtime: server.baseUrl } }));
    await expect(runChat(config('9'))).rejects.toThrow(/refused the token.*runtime-token/);
  });

  test('says so when nothing was ever started with this home', async () => {
    await expect(runChat(loadConfig({ FETCH_HOME: home }, {}))).rejects.toThrow(/it has no token/);
  });
});

describe('text and history', () => {
  test('a duration is read at a glance', () => {
    expect([900, 61_000, 3_725_000].map(elapsed)).toEqual(['0 s', '1 min 1 s', '1 h 2 min']);
  });

  test('earlier messages have no marks of markdown, except in a block of code', () => {
    const colors = pc.createColors(true);
    const { cyan, bold } = colors;
    expect(styledText('Write `help`.\n**Or**\n```\na `b`\n```\n`c`', colors)).toBe(
      [`Write ${cyan('help')}.`, bold('Or'), cyan('```'), cyan('a `b`'), cyan('```'), cyan('c')].join('\n'),
    );
  });

  test('a duration of a step excludes the time that it waited for the person', () => {
    const running = new Running();
    running.startTurn('turn_1', 0);
    running.startTool('i1', { label: 'making a workspace', turnId: 'turn_1', since: 1_000 });
    running.ask('q', 'turn_1', 2_000);
    running.decide('q', 62_000);
    expect(running.endTool('i1', 63_000)).toBe(61_000);
  });

  test('newlines and tabs survive what control characters do not', () => {
    expect(plain('a\r\nb\tc\x00\x07\x1b[31md\x1b')).toBe('a\nb\tcd');
  });

  test('the history gives a message of several lines back as one', () => {
    rememberMessage(home, 'one\ntwo');
    rememberMessage(home, 'x'.repeat(10_000));
    expect(loadHistory(home)).toEqual(['one\ntwo']);
  });

  test('the history keeps the last 500 lines, newest first', () => {
    for (let index = 0; index < 510; index++) rememberMessage(home, `line ${index}`);
    expect(loadHistory(home)).toHaveLength(500);
    expect(loadHistory(home)[0]).toBe('line 509');
    expect(readFileSync(join(home, 'chat-history'), 'utf8').split('\n')[0]).toBe('line 10');
    expect(statSync(join(home, 'chat-history')).mode & 0o777).toBe(0o600);
  });
});
