import { describe, expect, it } from 'vitest';
import type { Autonomy, Danger, TurnLimits } from '../../../src/contracts/conversation.ts';
import {
  type Called,
  compactionPoint,
  type DialogueMessage,
  SHOWN_OUTPUT_CHARS,
  toModelMessages,
} from '../../../src/domain/chat/context/context.ts';
import { chooseOption, isStrayNumber, parseCommand } from '../../../src/domain/chat/words/commands.ts';
import { decide, decideUnattended, mayApprove } from '../../../src/domain/consent/policy.ts';
import { breachText, turnBreach } from '../../../src/domain/model/budgets.ts';

describe('words that work without a model', () => {
  it.each([
    ['Stop!', 'stop'],
    ['  STOP  ', 'stop'],
    ['please stop', 'stop'],
    ['/status', 'status'],
    ["What's running?", null],
    ['help', 'help'],
    ['?', 'help'],
    ['👍', 'yes'],
    ['👍🏽', 'yes'],
    ['✔', 'yes'],
    ['👎🏿', 'no'],
    ['🛑', 'stop'],
    ['❤️', null],
    ['No.', 'no'],
    ['stop the server and restart it', null],
    ['is there a status page?', null],
    ['hello', null],
    ['', null],
  ])('%j is %j', (text, command) => expect(parseCommand(text)).toBe(command));
});

describe('an answer to a question with choices', () => {
  const options = ['Postgres', 'SQLite', 'Something else'];
  it.each([
    ['2', 'SQLite'],
    ['1.', 'Postgres'],
    ['(3)', 'Something else'],
    ['sqlite', 'SQLite'],
    ['post', 'Postgres'],
    ['s', 's'],
    ['neither, use files', 'neither, use files'],
    ['9', '9'],
    ['2️⃣', 'SQLite'],
    ['👍🏽', '👍🏽'],
  ])('%j means %j', (reply, answer) => expect(chooseOption(options, reply)).toBe(answer));
  it('takes a thumb for the one option that begins with yes or no', () => {
    expect(chooseOption(['Yes, delete it', 'No'], '👍🏽')).toBe('Yes, delete it');
    expect(chooseOption(['Yes, all', 'Yes, some', 'No'], '👍')).toBe('👍');
    expect(chooseOption([], '👍')).toBe('👍');
  });
  it('takes a number that is itself an option for that option', () => {
    expect(isStrayNumber(['8', '16'], '16')).toBe(false);
    expect(isStrayNumber(options, '4')).toBe(true);
    expect(isStrayNumber([], '4')).toBe(false);
  });
});

describe('policy', () => {
  const table: Array<[Danger, Autonomy, string, string]> = [
    ['SAFE', 'supervised', 'run', 'run'],
    ['MODERATE', 'supervised', 'ask', 'refuse'],
    ['DANGEROUS', 'supervised', 'ask', 'refuse'],
    ['SAFE', 'cautious', 'run', 'run'],
    ['MODERATE', 'cautious', 'run', 'run'],
    ['DANGEROUS', 'cautious', 'ask', 'refuse'],
    ['DANGEROUS', 'autonomous', 'run', 'run'],
  ];
  it.each(table)('%s in a %s chat: %s, and unattended: %s', (danger, autonomy, attended, unattended) => {
    expect(decide(danger, autonomy, false)).toBe(attended);
    expect(decideUnattended(danger, autonomy)).toBe(unattended);
    expect(decide(danger, autonomy, true)).toBe('run');
  });
  it.each<[Danger, boolean, boolean, boolean]>([
    ['DANGEROUS', true, false, true],
    ['DANGEROUS', false, true, true],
    ['DANGEROUS', false, false, false],
    ['MODERATE', false, false, true],
  ])('%s in a group, by the owner: %s, by who asked for it: %s, is approved: %s', (danger, owner, asked, approved) => {
    expect(mayApprove(danger, { owner, asked })).toBe(approved);
  });
});

describe('budgets', () => {
  const limits: TurnLimits = {
    maxSteps: 3,
    maxToolCalls: 4,
    maxTokens: 1000,
    maxMicroUsd: 1_000_000,
    maxWallMs: 60_000,
    parallelTools: 4,
    maxHistoryEvents: 1500,
  };
  const used = { steps: 0, toolCalls: 0, tokens: 0, microUsd: 0, wallMs: 0 };
  it.each([
    [{ steps: 3 }, 'steps in a turn', 'FETCH_MAX_STEPS'],
    [{ toolCalls: 4 }, 'tool calls in a turn', 'FETCH_MAX_TOOL_CALLS'],
    [{ tokens: 1000 }, 'tokens in a turn', 'FETCH_MAX_TURN_TOKENS'],
    [{ microUsd: 1_000_000 }, 'money in a turn', 'FETCH_MAX_TURN_USD'],
    [{ wallMs: 60_000 }, 'time in a turn', 'FETCH_MAX_TURN_MINUTES'],
  ])('%j is over, and the message names %s and where more is allowed', (change, budget, raise) => {
    const breach = turnBreach(limits, { ...used, ...change });
    expect(breach).toMatchObject({ budget, raise });
    expect(breachText(breach!)).toMatch(new RegExp(`^The budget for ${budget} is used up: .* under Settings\\.$`));
  });
  it('let go on what is below all of them', () => {
    expect(turnBreach(limits, used)).toBeNull();
  });
});

describe('context', () => {
  const said = (ord: number, role: DialogueMessage['role'], call_ids: string[] = []): DialogueMessage => ({
    ord,
    role,
    content: `m${ord}`,
    call_ids,
    tokens: 100,
  });
  const call = (id: string, output: string | null): Called => ({
    id,
    name: 'web_fetch',
    args: { url: 'x' },
    state: output === null ? 'running' : 'done',
    output,
  });

  it('keeps every call beside its result, and gives a call without one an unknown outcome', () => {
    const calls = new Map([call('a', 'found'), call('b', null)].map((each) => [each.id, each]));
    const messages = toModelMessages(
      'system',
      null,
      [said(1, 'user'), said(2, 'assistant', ['a', 'b']), said(3, 'user')],
      calls,
    );
    expect(messages.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'user']);
    expect(messages[4]).toMatchObject({ callId: 'b', content: expect.stringContaining('unknown') });
  });

  it('shows a long output cut, with the way to read on', () => {
    const calls = new Map([['a', call('a', 'x'.repeat(SHOWN_OUTPUT_CHARS + 5))]]);
    const tool = toModelMessages('s', null, [said(1, 'user'), said(2, 'assistant', ['a'])], calls).at(-1)!;
    expect(tool.role === 'tool' && tool.content).toContain('read_output {"callId":"a","offset":8000}');
  });

  it('is summed up only when it does not fit, and only before a user message', () => {
    const dialogue = Array.from({ length: 20 }, (_, n) => said(n + 1, n % 2 === 0 ? 'user' : 'assistant'));
    expect(compactionPoint(dialogue, new Map(), 2000)).toBeNull();
    const point = compactionPoint(dialogue, new Map(), 1000)!;
    expect(dialogue.find((message) => message.ord === point)!.role).toBe('assistant');
    expect(dialogue.filter((message) => message.ord > point).length).toBeLessThanOrEqual(6);
  });

  it('keeps the newest turn whole, however long it is', () => {
    const long = [
      said(1, 'user'),
      said(2, 'assistant'),
      said(3, 'user'),
      ...Array.from({ length: 30 }, (_, n) => said(n + 4, 'assistant')),
    ];
    expect(compactionPoint(long, new Map(), 500)).toBe(2);
  });
});
