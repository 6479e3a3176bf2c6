import { describe, expect, it } from 'vitest';
import { readLine } from '../../../../src/cli/protocols/acp/acp.ts';
import { readPrompt } from '../../../../src/cli/protocols/acp/prompt.ts';
import { planIn } from '../../../../src/cli/protocols/acp/questions.ts';
import { diffsIn } from '../../../../src/cli/protocols/acp/tool-calls.ts';
import { Updates } from '../../../../src/cli/protocols/acp/updates.ts';
import type { EventEnvelope, ItemRecord } from '../../../../src/contracts/records.ts';

const item = (fields: Partial<ItemRecord>): ItemRecord => ({
  schema_version: 2,
  id: 'item_1',
  turn_id: 'turn_1',
  kind: 'agent_message',
  status: 'completed',
  summary: '',
  artifact_refs: [],
  ...fields,
});
const event = (name: string, payload: Record<string, unknown>, itemId: string | null = 'item_1'): EventEnvelope => ({
  schema_version: 1,
  seq: 1,
  event: name,
  kind: name,
  thread_id: 'thr_1',
  turn_id: 'turn_1',
  item_id: itemId,
  timestamp: '',
  created_at: '',
  payload,
});
const delta = (text: string) => event('item.delta', { delta: text, kind: 'agent_message' });
const texts = (updates: ReturnType<Updates['of']>): string[] =>
  updates.map((update) =>
    'content' in update && update.content && 'type' in update.content && update.content.type === 'text'
      ? update.content.text
      : '',
  );

describe('a text', () => {
  it('is shown as it is streamed, and its end adds only what is missing', () => {
    const updates = new Updates('/w', false);
    expect(texts(updates.of(delta('Hel')))).toEqual(['Hel']);
    expect(texts(updates.of(event('item.completed', { item: item({ detail: 'Hello' }) })))).toEqual(['lo']);
  });

  it('of the past is shown whole, and one that is being streamed as far as it is, when the past is over', () => {
    const updates = new Updates('/w', true);
    expect(updates.of(delta('Hel'))).toEqual([]);
    expect(texts(updates.of(event('item.completed', { item: item({ detail: 'Hello' }) })))).toEqual(['Hello']);
    expect(updates.of({ ...delta('Now'), item_id: 'item_2' })).toEqual([]);
    expect(texts(updates.live())).toEqual(['Now']);
    expect(
      texts(updates.of(event('item.completed', { item: item({ id: 'item_2', detail: 'Now then' }) }, 'item_2'))),
    ).toEqual([' then']);
  });

  it('that broke off is said to be cut off, and is shown again as far as it came', () => {
    const cut = event('item.interrupted', { item: item({ status: 'interrupted', detail: 'Hel' }) });
    const updates = new Updates('/w', false);
    updates.of(delta('Hel'));
    expect(texts(updates.of(cut))).toEqual(['\n\n(This was cut off.)\n\n']);
    const past = new Updates('/w', true);
    past.of(delta('Hel'));
    expect(texts(past.of(cut))).toEqual(['Hel', '\n\n(This was cut off.)\n\n']);
  });

  it('that the editor has sent is not shown to it again, also with quotations below it', () => {
    const updates = new Updates('/w', false);
    updates.expectEcho('Look');
    const said = item({ kind: 'user_message', detail: 'Look\n\n[With it came: a]\n| x' });
    expect(updates.of(event('item.completed', { item: said }))).toEqual([]);
    expect(texts(updates.of(event('item.completed', { item: said })))).toEqual([said.detail]);
  });
});

describe('a call', () => {
  it('is shown with what it is about, and its result with the differences and the place', () => {
    const updates = new Updates('/w', false);
    const tool = {
      id: 'call_1',
      name: 'file_edit',
      input: { path: 'src/a.ts', workspace: 'shop', find: 'a', replace: 'b' },
    };
    const started = item({ kind: 'file_change', status: 'in_progress' });
    expect(updates.of(event('item.started', { item: started, tool }))).toMatchObject([
      {
        sessionUpdate: 'tool_call',
        toolCallId: 'call_1',
        title: 'file_edit src/a.ts',
        kind: 'edit',
        locations: [{ path: '/w/shop/src/a.ts' }],
      },
    ]);
    const metadata = { path: 'src/a.ts', workspace: 'shop', diff: '@@ -1,2 +1,2 @@\n x\n-a\n+b' };
    expect(
      updates.of(event('item.completed', { item: { ...started, status: 'completed', detail: 'Edited', metadata } })),
    ).toMatchObject([
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'call_1',
        status: 'completed',
        content: [{ type: 'diff', path: '/w/shop/src/a.ts', oldText: 'x\na', newText: 'x\nb' }],
      },
    ]);
  });

  it('that failed shows why', () => {
    const updates = new Updates('/w', false);
    const started = item({ kind: 'tool_call', status: 'in_progress' });
    updates.of(event('item.started', { item: started, tool: { id: 'call_1', name: 'web_fetch', input: {} } }));
    expect(updates.of(event('item.failed', { item: { ...started, status: 'failed', detail: 'No.' } }))).toMatchObject([
      { status: 'failed', content: [{ type: 'content', content: { type: 'text', text: 'No.' } }] },
    ]);
  });
});

describe('a difference', () => {
  it('is read hunk by hunk, with the file that its header names; a text that is none has none', () => {
    const unified = '--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@\n-a\n+b\n@@ -9,0 +10 @@\n+c\n\\ No newline at end of file';
    expect(diffsIn(unified, (path) => `/w/${path}`)).toEqual([
      { type: 'diff', path: '/w/x.ts', oldText: 'a', newText: 'b' },
      { type: 'diff', path: '/w/x.ts', oldText: null, newText: 'c' },
    ]);
    expect(diffsIn('npm test\n+ echo', (path) => path)).toEqual([]);
  });
});

describe('a prompt', () => {
  it('has words, links, and texts that stay apart; blanks and recordings are refused', () => {
    const resource = { type: 'resource' as const, resource: { uri: 'file:///a', text: 'inside' } };
    expect(
      readPrompt([
        { type: 'text', text: ' Review ' },
        { type: 'resource_link', name: 'b', uri: 'file:///b' },
        resource,
      ]),
    ).toEqual({
      text: 'Review\n\n@file:///b\n\n@file:///a',
      quoted: [{ name: 'file:///a', text: 'inside' }],
      pictures: [],
    });
    expect(readPrompt([{ type: 'image', data: 'aGk=', mimeType: 'image/png' }])).toEqual({
      text: '',
      quoted: [],
      pictures: [{ data: Buffer.from('hi'), type: 'image/png' }],
    });
    expect(() => readPrompt([{ type: 'text', text: ' \n' }])).toThrow('prompt must include text content');
    expect(() => readPrompt([{ type: 'audio', data: 'aGk=', mimeType: 'audio/wav' }])).toThrow(
      'content of type audio is not supported',
    );
  });
});

describe('a line', () => {
  it.each([
    ['{bad', null, -32700],
    ['{"id":13,"method":"x"}', 13, -32600],
    ['{"jsonrpc":"2.0","id":"a"}', 'a', -32600],
    ['[]', null, -32600],
    ['7', null, -32600],
    ['null', null, -32600],
  ])('%s is refused', (line, id, code) => {
    expect(readLine(line)).toMatchObject({ id, error: { code } });
  });

  it('is passed on when it is a request, a notification or an answer', () => {
    for (const line of [
      '{"jsonrpc":"2.0","id":1.5,"method":"x"}',
      '{"jsonrpc":"2.0","method":"x"}',
      '{"jsonrpc":"2.0","id":1,"result":null}',
    ])
      expect(readLine(line)).toEqual({ message: JSON.parse(line) });
  });
});

describe('a plan', () => {
  it('is shown by the items of its list; other questions have none', () => {
    const asked = (
      header: string,
      question = 'Shall I?\n\n> 1. Read\n> 2. Write\n>    with care\n>\n> Files:\n> - a.txt',
    ) => ({
      input: { id: 'q', request: { questions: [{ header, id: 'q', question }] } },
    });
    expect(planIn(asked('Plan')).map(({ content }) => content)).toEqual(['Read', 'Write']);
    expect(planIn(asked('Plan', '- Read\n* Test')).map(({ content }) => content)).toEqual(['Read', 'Test']);
    expect(planIn(asked('Question'))).toEqual([]);
  });
});
