import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { clauseOf, clausesOf } from '../../../kennel/agents/practice/goal.ts';
import { allowAny, choose, isAskHuman } from '../../../kennel/runner/agent/permissions.ts';
import { ToolCalls } from '../../../kennel/runner/agent/tool-calls.ts';
import { Sanitiser } from '../../../kennel/runner/log/sanitiser.ts';
import { fieldsOf, fillForm, valuesOf } from '../../../kennel/runner/questions/elicitation-form.ts';
import { PendingQuestions, unsettled } from '../../../kennel/runner/questions/pending-questions.ts';
import { parseLine } from '../../../src/activities/task/run/log-line.ts';
import type { LogEvent } from '../../../src/contracts/kennel.ts';

function pending(options: { holdMs?: number; earlier?: Map<string, string> } = {}) {
  const lines: LogEvent[] = [];
  let parked = 0;
  const made = new PendingQuestions({
    write: (event) => lines.push(event),
    nextSeq: () => lines.length + 1,
    holdMs: options.holdMs ?? 60_000,
    earlier: options.earlier ?? new Map(),
    onParked: () => {
      parked += 1;
    },
  });
  return { pending: made, lines, parked: () => parked };
}
const question = (text: string) => ({ question: text, options: [] });

describe('the desk', () => {
  test('settles a question once, whatever is answered later', async () => {
    const { pending: one, lines } = pending();
    const reply = one.ask(question('Which?'));
    one.take({ id: '1', step: 1, type: 'answer', questionId: 'q1', answer: 'this' });
    one.take({ id: '2', step: 1, type: 'answer', questionId: 'q1', answer: 'that' });
    expect(await reply).toEqual({ what: 'answer', id: 'q1', text: 'this' });
    expect(lines.map((line) => line.type)).toEqual(['question', 'settled']);
  });

  test('has one line for a question that is asked twice while it is open', async () => {
    const { pending: one, lines } = pending();
    const both = [one.ask(question('Which?')), one.ask(question('Which?'))];
    one.take({ id: '1', step: 1, type: 'answer', questionId: 'q1', answer: 'this' });
    expect((await Promise.all(both)).map((reply) => reply.what)).toEqual(['answer', 'answer']);
    expect(lines.filter((line) => line.type === 'question')).toHaveLength(1);
  });

  test('keeps an answer for a call that broke until the agent asks again', async () => {
    const { pending: one, lines } = pending();
    one.unheard('Which?', { what: 'answer', id: 'q1', text: 'this' });
    expect(await one.ask(question('Which?'))).toMatchObject({ text: 'this' });
    expect(lines).toEqual([]);
  });

  test('parks everything that is open when one question has waited too long', async () => {
    vi.useFakeTimers();
    const { pending: one, parked } = pending({ holdMs: 1000 });
    const replies = [one.ask(question('a')), one.permit({ title: 't', kind: 'execute', command: 'rm x' })];
    vi.advanceTimersByTime(1000);
    vi.useRealTimers();
    expect(await Promise.all(replies)).toEqual([{ what: 'parked' }, { what: 'parked' }]);
    expect(parked()).toBe(1);
    expect(await one.ask(question('b'))).toEqual({ what: 'parked' });
  });

  test('refuses the sixty-fifth open question', async () => {
    const { pending: one } = pending();
    for (let n = 0; n < 64; n++) void one.ask(question(`${n}`));
    expect(await one.ask(question('one more'))).toEqual({ what: 'refused' });
  });

  test('answers at once what was asked in an earlier step and decided meanwhile', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'desk-'));
    const log = join(folder, 'log.ndjson');
    const events: LogEvent[] = [
      { type: 'question', id: 'q3', question: 'Which?', options: [] },
      { type: 'question', id: 'q4', question: 'When?', options: [] },
      { type: 'settled', id: 'q4', how: 'answered' },
      { type: 'permission', id: 'p5', title: 'rm x', kind: 'execute', command: 'rm x' },
    ];
    writeFileSync(log, `${events.map((event) => JSON.stringify(event)).join('\n')}\n{"type":"quest`);
    const earlier = unsettled(log);
    rmSync(folder, { recursive: true });
    expect([...earlier.keys()]).toEqual(['q3', 'p5']);
    const { pending: one, lines } = pending({ earlier });
    one.take({ id: '1', step: 2, type: 'permit', permissionId: 'p5', decision: 'allow' });
    expect(await one.permit({ title: 'rm x', kind: 'execute', command: 'rm x' })).toMatchObject({ text: 'allow' });
    expect(lines).toEqual([{ type: 'settled', id: 'p5', how: 'answered before' }]);
    void one.permit({ title: 'rm x', kind: 'execute', command: 'rm x' });
    expect(lines.at(-1)?.type).toBe('permission');
  });
});

describe('permissions', () => {
  const options = [
    { optionId: '1', name: 'Always', kind: 'allow_always' as const },
    { optionId: '2', name: 'Once', kind: 'allow_once' as const },
    { optionId: '3', name: 'No', kind: 'reject_once' as const },
  ];

  test('are chosen by kind, and never for always', () => {
    expect(choose(options, 'allow')).toEqual({ outcome: { outcome: 'selected', optionId: '2' } });
    expect(choose(options, 'deny')).toEqual({ outcome: { outcome: 'selected', optionId: '3' } });
    expect(choose(options.slice(0, 1), 'allow')).toEqual({ outcome: { outcome: 'cancelled' } });
    expect(choose(options.slice(0, 1), 'deny')).toEqual({ outcome: { outcome: 'cancelled' } });
    expect(allowAny(options.slice(0, 1))).toEqual({ outcome: { outcome: 'selected', optionId: '1' } });
  });

  test.each([
    'mcp__fetch__ask_human',
    'fetch-ask_human',
    'mcp.fetch.ask_human',
    'ask_human (fetch MCP Server)',
    'ask_human',
  ])('know our own tool as %s', (title) => {
    expect(isAskHuman({ toolCallId: '1', title })).toBe(true);
    const line = {
      seq: 1,
      step: 0,
      at: '2026-01-01T00:00:00Z',
      type: 'tool',
      id: '1',
      kind: 'other',
      status: 'pending',
    };
    // people read the log of a task, and know no tool
    expect(parseLine(JSON.stringify({ ...line, title }))).toMatchObject({ title: 'asks you' });
    expect(parseLine(JSON.stringify({ ...line, title: `cat ${title}` }))).toMatchObject({ title: `cat ${title}` });
  });

  test('do not take a command for our tool that has its name in it', () => {
    expect(isAskHuman({ toolCallId: '1', title: 'rm -rf / # mcp__fetch__ask_human' })).toBe(false);
    expect(isAskHuman({ toolCallId: '1', title: 'ask_human', kind: 'execute' })).toBe(false);
    expect(isAskHuman({ toolCallId: '1', title: 'ask_human', rawInput: { command: 'rm -rf /' } })).toBe(false);
    expect(isAskHuman({ toolCallId: '1', title: 'mcp__other__ask_human' })).toBe(false);
  });
});

describe('forms of an agent', () => {
  const choice = {
    properties: {
      question_0: {
        type: 'string',
        title: 'Color',
        oneOf: [
          { const: 'red', title: 'Red' },
          { const: 'blue', title: 'Blue' },
        ],
      },
      question_0_custom: { type: 'string', title: 'Other', description: 'Type your own answer' },
    },
  };

  test('take a choice by title, by value, by number, and other words as the other answer', () => {
    const [field, ...more] = fieldsOf('Which color?', choice);
    expect(more).toEqual([]);
    expect(field).toMatchObject({ question: 'Which color?', other: 'question_0_custom' });
    expect(valuesOf(field!, ' RED ')).toEqual({ question_0: 'red' });
    expect(valuesOf(field!, '2')).toEqual({ question_0: 'blue' });
    expect(valuesOf(field!, 'green, please')).toEqual({ question_0_custom: 'green, please' });
  });

  test('ask one question for each field, and again when an answer is none of the choices', async () => {
    const { pending: one, lines } = pending();
    const schema = {
      properties: {
        a: { type: 'array', title: 'Which?', items: { enum: ['x', 'y'] } },
        b: { type: 'boolean', title: 'Sure?' },
        c: { type: 'integer', title: 'How many?' },
      },
    };
    const response = fillForm(
      { mode: 'form', sessionId: 's', message: 'Some things', requestedSchema: schema } as never,
      one,
      new Sanitiser([]),
    );
    for (const answer of ['z', 'x, y', 'yes', '3']) {
      await vi.waitFor(() => expect(lines.at(-1)?.type).toBe('question'), 30_000);
      one.take({ id: answer, step: 1, type: 'answer', questionId: (lines.at(-1) as { id: string }).id, answer });
      await vi.waitFor(
        () => expect(lines.at(-1)).toMatchObject(answer === '3' ? { type: 'settled' } : { type: 'question' }),
        30_000,
      );
    }
    expect(await response).toEqual({ action: 'accept', content: { a: ['x', 'y'], b: true, c: 3 } });
    expect(lines.filter((line) => line.type === 'question')).toHaveLength(4);
  });

  test('are declined when they want an address to be opened', async () => {
    expect(
      await fillForm({ mode: 'url', message: 'x', url: 'http://x' } as never, pending().pending, new Sanitiser([])),
    ).toEqual({ action: 'decline' });
  });
});

describe('tool calls', () => {
  test('become a line for each change, and one a second for growing output', () => {
    vi.useFakeTimers();
    const lines: LogEvent[] = [];
    const calls = new ToolCalls(new Sanitiser([]), '/workspace', (event) => lines.push(event));
    const output = (text: string) => ({
      toolCallId: 't',
      content: [{ type: 'content' as const, content: { type: 'text' as const, text } }],
    });
    const put = (update: Parameters<ToolCalls['upsert']>[0]) => {
      calls.upsert(update);
      calls.show('t');
    };
    put({
      toolCallId: 't',
      title: 'Run\nit',
      kind: 'execute',
      status: 'pending',
      rawInput: { command: ['bash', '-lc', 'make'] },
    });
    put({ toolCallId: 't', title: 'Run\nit', kind: 'execute', status: 'pending' });
    for (let n = 0; n < 100; n++) put(output(`line ${n}`));
    vi.advanceTimersByTime(1000);
    put({ toolCallId: 't', status: 'completed', locations: [{ path: '/workspace/a.txt' }] });
    vi.useRealTimers();
    expect(lines).toEqual([
      { type: 'tool', id: 't', title: 'Run it', kind: 'execute', status: 'pending', detail: '$ make' },
      { type: 'tool', id: 't', title: 'Run it', kind: 'execute', status: 'pending', detail: '$ make\nline 99' },
      {
        type: 'tool',
        id: 't',
        title: 'Run it',
        kind: 'execute',
        status: 'completed',
        detail: '$ make\nline 99',
        paths: ['a.txt'],
      },
    ]);
  });
});

describe('goals of the practice agent', () => {
  test('are parted by semicolons that have no backslash before them', () => {
    expect(clausesOf('say a\\; b;  ; run echo 1 \\; echo 2;')).toEqual(['say a; b', 'run echo 1 ; echo 2']);
  });

  test('are understood clause by clause', () => {
    expect(clauseOf('write a/b.txt one\\ntwo', [])).toEqual({ verb: 'write', file: 'a/b.txt', text: 'one\ntwo\n' });
    expect(clauseOf('wait 0.5', [])).toEqual({ verb: 'wait', seconds: 0.5 });
    expect(clauseOf('ask Which one? | red | blue', [])).toEqual({
      verb: 'ask',
      question: 'Which one?',
      options: ['red', 'blue'],
    });
    expect(clauseOf('allow? make {answer} {answer1} {answer9}', ['x', 'y'])).toEqual({
      verb: 'allow?',
      command: 'make y x {answer9}',
    });
    for (const bad of ['bark', 'wait long', 'run', 'write', 'ask']) expect(clauseOf(bad, [])).toBeNull();
  });
});
