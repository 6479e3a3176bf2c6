import { describe, expect, it, test } from 'vitest';
import { greetingText, helpText, shortHelp } from '../../src/domain/chat/words/help.ts';
import { scheduleInWords } from '../../src/domain/chat/words/schedule-words.ts';
import { toldToPerson } from '../../src/domain/chat/words/step-words.ts';
import { whyAsked } from '../../src/domain/consent/taint.ts';
import { moneyText } from '../../src/domain/model/price-book.ts';
import { limitNotice } from '../../src/domain/tasks/agents/limit-notice.ts';
import { egressQuestion } from '../../src/domain/tasks/egress.ts';
import { reportText } from '../../src/domain/tasks/report.ts';
import { CATALOGUE, english } from '../../src/domain/texts/say.ts';
import { helpLines } from '../../src/gateway/intake/commands/help.ts';
import { COMMANDS } from '../../src/gateway/intake/commands/table.ts';
import { approvalSentence, tools } from '../../src/tools/registry.ts';
import { machineWordsIn, ownMachineWordsIn, TOOL_NAMES } from '../support/transcript.ts';

describe('a message that says something of the machine is found', () => {
  test.each([
    ['an id', 'Created task tsk_imqwp44k6x.'],
    ['an id', 'Created cron "x" (cron_every-1-min_l8vd9ab0c1).'],
    ['JSON', 'It said {"answer": "tea"}'],
    ['a cron expression', 'on the schedule */1 * * * *?'],
    ['a cron expression', 'It runs 30 8 * * MON-FRI in UTC.'],
    ['a setting', 'set a price with FETCH_MODEL_PRICE'],
    ['a setting', 'Set a new GH_TOKEN.'],
    ['a path of the server', 'Folder: `/home/ada/.fetch/workspaces/shop`'],
    ['a line of git', 'See:\ndiff --git a/x b/x'],
    ['a tool', 'task_status shows more'],
  ])('%s: %s', (what, text) => {
    expect(machineWordsIn(text)).toEqual([expect.stringMatching(new RegExp(`^${what}: `))]);
  });

  it('and each tool with a name of several words is known', () => {
    expect([...TOOL_NAMES].sort()).toEqual([...tools.keys()].filter((name) => name.includes('_')).sort());
  });

  it('and one for people is not', () => {
    for (const text of [
      'Done in demo, tests pass: “snake_case names are fixed”. Say undo to take it back.',
      '1. what is in demo: every weekday at 8:30, next at 08:30',
      '9 minutes, of which 8 waiting for you: 3 * 4 = 12',
      '[1, 2, 3] and {x}: see /etc, or https://example.com/home/page',
    ])
      expect(machineWordsIn(text)).toEqual([]);
  });
});

it.each(Object.entries(CATALOGUE))('no text in %s names a setting', (_, catalogue: Record<string, string>) => {
  expect(Object.entries(catalogue).filter(([, text]) => /\b[A-Z]{2,}_[A-Z_]{2,}/.test(text))).toEqual([]);
});

describe('words that are not ours do not count', () => {
  const sent = (body: string, change: { kind?: string; theirs?: string[]; asked?: string[] } = {}) =>
    ownMachineWordsIn({ body, kind: 'answer', theirs: [], asked: [], ...change });

  it.each([
    ['a goal', 'In demo: read tsk_12345 (done)', { theirs: ['read tsk_12345'] }],
    ['a quotation', 'Done in demo:\n\n> set FETCH_HOME to /home/ada/x', {}],
    ['a command that is asked about', 'Run this command?\n```\n│ ls /var/log/x\n```', { kind: 'question' }],
    ['an output', 'Tests fail:\n```\nat /home/ada/x.js\n```', {}],
    [
      'an answer of a model that repeats a script',
      "Created task tsk_imqwp44k6x: 'SCRIPT:[{}]' → codex in demo.",
      { theirs: ["Created task tsk_imqwp44k6x: 'SCRIPT:[{}]' → codex in demo."] },
    ],
    ['what the person named', 'No such schedule as cron_abc12.', { asked: ['delete cron_abc12'] }],
  ])('%s', (_, body, change) => {
    expect(sent(body, change)).toEqual([]);
  });

  it('and beside them ours do', () => {
    expect(sent('Task tsk_12345 is done: read it', { theirs: ['read it'] })).toEqual(['an id: tsk_12345']);
    expect(sent('Save it?\n```\n1. workflow_list\n```', { kind: 'question' })).toEqual(['a tool: workflow_list']);
  });
});

const setUps = [true, false].flatMap((practice) => [true, false].map((tasks) => ({ practice, tasks })));
const sources = [
  { kind: 'page' as const, label: 'example.com' },
  { kind: 'command' as const, label: 'shell_run' },
  { kind: 'output' as const, label: 'call_12345678' },
];
const report = {
  number: 3,
  goal: 'add a page',
  harness: 'claude',
  workspace: 'demo',
  state: 'completed' as const,
  reason: '',
  seconds: 540,
  spent: { calls: 3, inputTokens: 60_000, outputTokens: 7_000, microUsd: 0, unpriced: 1 },
  result: {
    changes: { commit: 'abcdef0123456789', branch: 'main', files: [], filesChanged: 0, added: 0, removed: 0 },
    tests: { command: 'npm test', ok: true, output: '' },
    said: 'The page is there.',
  },
};

test.each([
  ...setUps.map((setUp) => ['help', shortHelp(setUp)]),
  ...setUps.map((setUp) => ['a greeting', greetingText(setUp, 'Ada')]),
  ...(['tasks', 'schedules', 'trust', 'all'] as const).map((about) => [
    `help ${about}`,
    helpText(about, helpLines(COMMANDS)),
  ]),
  ['a new task', toldToPerson("Created task tsk_imqwp44k6x: 'x' → practice in demo. Its report comes to this chat.")],
  ['a report', reportText(report)],
  ['a failed report', reportText({ ...report, state: 'failed', reason: 'The disk is full.' })],
  [
    'a limit',
    limitNotice(
      { harness: 'claude', workspace: 'demo' },
      { kind: 'budget', named: true, opensAt: Date.UTC(2030, 1, 1) },
      { zone: 'UTC', others: ['codex'] },
    ),
  ],
  [
    'a host',
    egressQuestion({
      workspace: 'demo',
      hosts: [{ host: 'example.com', port: 443 }],
      more: 0,
      tools: ['npm'],
      warnings: [],
    }),
  ],
  ['the reason of a question', whyAsked({ sources, asks: ['fetch'] })],
  ['how to answer', english('answer.approval')],
  ['money', moneyText({ tokens: 5, microUsd: 0 })],
  ['money without a price', moneyText({ tokens: 5, microUsd: 10, unpriced: 5 })],
  ['a schedule', scheduleInWords('*/10 8-17 * * MON-FRI')],
])('%s says nothing of the machine', (_, text) => {
  expect(machineWordsIn(text!)).toEqual([]);
});

/** Arguments that questions name. */
const ARGUMENTS = {
  ...{ name: 'tidy', workflow: 'tidy', cron: 'tidy', schedule: '0 9 * * *', title: 'x', message: 'x', path: 'a.txt' },
  ...{ url: 'https://example.com', from: 'https://example.com/x.git', text: 'x', agent: 'auto', what: 'one' },
  ...{ action: 'list', command: 'ls' },
};

test.each([...tools.values()].filter(({ asks }) => asks).map(({ name }) => name))('%s asks in words', (name) => {
  expect(
    machineWordsIn(approvalSentence(name, name === 'preferences' ? { language: 'de' } : ARGUMENTS, ' in demo')),
  ).toEqual([]);
});
