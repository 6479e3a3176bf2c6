import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { helpText, parseHelp, shortHelp } from '../../../../src/domain/chat/words/help.ts';
import { english } from '../../../../src/domain/texts/say.ts';
import { helpLines } from '../../../../src/gateway/intake/commands/help.ts';
import { COMMANDS, isCommand } from '../../../../src/gateway/intake/commands/table.ts';
import { holds } from '../../../support/property.ts';

const isOne = (text: string): boolean => COMMANDS.some(({ parse }) => parse(text) !== null);

describe('a whole message', () => {
  it.each([
    'stop',
    'Status!',
    '/help',
    '?',
    '/new',
    'CLEAR',
    '/clear',
    'supervised',
    '/auto',
    'ask again',
    'judged',
    'judged by qwen3',
    '/rules',
    'race 3: fix the tests',
    'split in shop: one; two',
    'merge',
    'choose 2',
    'egress',
    'plan on',
    'sign as me',
    'shares',
    'pause',
    'new',
    '/reset',
    '/u',
    '/V',
    '/ls',
    '/select demo',
    '/cron remove 2',
    'plan',
    'trust ls',
    'trust add +49 170 1234567',
    'trust list',
    'telegram',
    'trust add telegram',
    'trust remove telegram Ana Maria',
    'groups',
    'export this chat',
    'answer in Family',
    'Answer everything in Our Home for everyone.',
    'stop answering in Family',
    'remind me to stretch in 5 minutes',
    'reminders',
    'Hi!',
    'good morning',
    'Hello, fetch',
    'demo is tested by make check',
    'Forget how demo is tested.',
    'check demo',
    'undo',
    'Undo all.',
    '/redo',
    'undo tsk_ab12',
    'take',
    'take it over: now the tests',
    'give',
    'Give me task 2.',
    'ship',
    'Ship it!',
    'ship and merge when green',
    'ship stop in demo',
    'tasks?',
    'schedules remove 2',
    'tell 2: use npm',
    'Tell the agent: use npm,\nnot yarn',
    'tell claude: it is in src',
    '/tell tsk_ab12: stop at lunch',
  ])('is a command: %s', (text) => expect(isOne(text)).toBe(true));
});

describe('a sentence', () => {
  it.each([
    'stop the server and restart it',
    'what is the status of the build?',
    'help me with the tests',
    'start a new file',
    'is that clear',
    'clear the table in the database',
    'be more cautious with files',
    'the essay was judged by three people',
    'judged by the tests, it works',
    'the rules of chess',
    'race conditions: what are they?',
    'merge the branches',
    'split the file in two',
    'the plan is on',
    'sign the contract',
    'pause the video when the tab is hidden',
    'egress filtering in Kubernetes',
    'u',
    'v',
    'reset',
    'select demo',
    'plan the release',
    'new test',
    'trust no input of users',
    'groups of users are slow',
    'how do I export this chat',
    'do answer in tests',
    'the answer in the book',
    'stop answering the phone in meetings',
    'trust add is broken',
    'telegram bots are slow',
    'trust telegram less than signal',
    'hello world in Rust',
    'hi, can you fix the tests?',
    'good morning light for the lamp',
    'undo the last commit and push it',
    'undo button',
    'take the second one',
    'take care of the tests',
    'give me an example',
    'give up',
    'ship the parcel',
    'ship it today',
    'redo the layout',
    'undo everything you did to the tests',
    'schedules delete themselves',
    'tasks for today',
    'project management is hard',
    'the usage of this function',
    'model the data first',
    'version 2 is out',
    'which model of car is it',
    'tell it: use PostgreSQL',
    'tell me: what is this?',
    'tell Ann: I am late',
    'tell the agent to use npm',
    'tell 2:',
    '',
    '/',
    '...',
  ])('that contains the words of one is none: %s', (text) => expect(isOne(text)).toBe(false));

  it('defect 10: with words before, between or behind is none, whatever they are', () => {
    const words = COMMANDS.flatMap(({ help }) =>
      [
        ...help
          .map((line) => english(line))
          .join(' ')
          .matchAll(/`([a-z ]+)`/g),
      ].map((found) => found[1]!),
    );
    expect(words.length).toBeGreaterThan(10);
    const other = fc.constantFrom(
      'the',
      'button',
      'please explain',
      'why',
      'in the code',
      'does',
      'not',
      'and then',
      'of our page',
      'with tests',
    );
    holds(
      fc.property(
        fc.constantFrom(...words),
        fc.array(other, { minLength: 1, maxLength: 4 }),
        fc.array(other, { minLength: 2, maxLength: 4 }),
        (word, before, after) => {
          expect(isOne([...before, word, ...after].join(' '))).toBe(false);
        },
      ),
    );
  });

  it('that is random text is none', () => {
    const letters = fc.stringMatching(/^[a-z]{2,9}$/);
    holds(
      fc.property(fc.array(letters, { minLength: 3, maxLength: 12 }), (sentence) => {
        expect(isCommand(sentence.join(' '))).toBe(false);
      }),
    );
  });
});

it.each([
  { practice: false, tasks: true },
  { practice: false, tasks: false },
  { practice: true, tasks: true },
  { practice: true, tasks: false },
])('help is read at a glance: at most 80 words with %j', (setUp) => {
  const words = shortHelp(setUp).split(/\s+/).length;
  expect(words).toBeGreaterThan(50);
  expect(words).toBeLessThanOrEqual(80);
});

it.each(['tasks', 'schedules', 'trust'] as const)('help %s has its own words and no others', (topic) => {
  expect(parseHelp(`Help ${topic}!`)).toEqual({ about: topic });
  const text = helpText(topic, helpLines(COMMANDS));
  expect(text.split('\n').filter((line) => line.startsWith('- ')).length).toBeGreaterThan(2);
  expect(text).not.toContain('`version`');
});

it('help has words to say for every command that it lists', () => {
  const text = helpText('all', helpLines(COMMANDS));
  const lines = COMMANDS.flatMap(({ help }) => help.map((line) => english(line)));
  for (const line of lines) expect(text).toContain(`- ${line}`);
  for (const line of lines) expect(line).toMatch(/`[^`]+`/);
});
