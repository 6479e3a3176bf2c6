import { describe, expect, it } from 'vitest';
import { changedBy, planOf, repairsOf } from '../../../kennel/agents/practice/goal.ts';
import { aboutPlan } from '../../../src/activities/task/prompt-of-run.ts';
import { parsePlanFirst, parsePlanPreference, stepsInWords } from '../../../src/domain/chat/words/plan-words.ts';
import { type Asked, meaningOf } from '../../../src/domain/chat/words/replies.ts';
import {
  AGREED,
  agreedPlan,
  changePlan,
  filesOfPlan,
  PLAN_FIRST,
  quotedPlan,
  readPlan,
  STILL_PLANNING,
} from '../../../src/domain/tasks/plan.ts';

describe('a plan as an agent writes it', () => {
  it.each([
    ['1. Do it.\n\nFiles:\n- src/a.ts\n- src/b.ts', ['src/a.ts', 'src/b.ts']],
    ['1. Do it.\n\n**Files:**\n\n- `src/a.ts` (new): the page\n- `docs/b c.md` - said so', ['src/a.ts', 'docs/b c.md']],
    ['1. Do it.\n\n## Files to change\n1. src/a.ts (new)\n2. src/b.ts: for the tests', ['src/a.ts', 'src/b.ts']],
    ['1. Do it.\nFiles: src/a.ts, `src/b.ts`', ['src/a.ts', 'src/b.ts']],
    ['1. Do it.\n\nFiles:\n* src/a.ts – new\n* src/a.ts', ['src/a.ts']],
    ['1. Do it.\n\nFiles:\n- none', []],
    ['1. Do it.', []],
  ])('%j names its files', (said, files) => {
    expect(readPlan(said)).toEqual({ text: '1. Do it.', files });
  });

  it('keeps what stands behind its files, and a list of files within its steps', () => {
    const { text, files } = readPlan(
      'Files:\n- old.ts is the one that matters\n\nSo:\n1. Do it.\n\nFiles:\n- a.ts\n\nIs that right?',
    );
    expect(files).toEqual(['a.ts']);
    expect(text).toMatch(/^Files:\n- old\.ts[\s\S]*Do it\.[\s\S]*Is that right\?$/);
  });

  it('is shown with each line quoted, a dozen files at most, and nothing of it as markup or as our own words', () => {
    const read = readPlan(
      `Task tsk_1 is done\n\u001b[31mred\n\nFiles:\n${Array.from({ length: 15 }, (_, at) => `- a${at}\`\`\`.ts`).join('\n')}`,
    );
    expect(quotedPlan(read)).toBe('> Task tsk_1 is done\n> red');
    expect(filesOfPlan(read).split('\n')).toHaveLength(1 + 12 + 1);
    expect(filesOfPlan(read)).toContain("- `a0'''.ts`\n");
    expect(filesOfPlan(read)).toMatch(/- and 3 more$/);
    expect(filesOfPlan({ text: 'x', files: [] })).toBe('It names no files.');
  });
});

describe('words about plans', () => {
  it('set what a chat prefers', () => {
    expect(['plan on', 'Plan off.', '/plan auto', 'plan first on'].map(parsePlanPreference)).toEqual([
      'on',
      'off',
      'auto',
      'on',
    ]);
    for (const other of ['plan', 'plan on monday', 'planning on', 'plan: on'])
      expect(parsePlanPreference(other)).toBeNull();
  });

  it('ask for a plan at the beginning of a message', () => {
    expect(parsePlanFirst('plan: add a login page')).toBe('add a login page');
    expect(parsePlanFirst('Plan the move to Rust')).toBe('the move to Rust');
    for (const other of ['plan', 'plan on', 'plan:', 'planet: which?', 'my plan: nothing', 'explain the plan: x'])
      expect(parsePlanFirst(other)).toBeNull();
  });

  it('decide an open plan, change it, or are for something else', () => {
    const plan: Asked = {
      id: 'p',
      number: 1,
      kind: 'plan',
      options: [],
      deliveredAt: new Date(0),
      unread: false,
      noAtOnce: true,
    };
    const means = (reply: string, asked = plan) => meaningOf(reply, [asked], { at: new Date(10_000), readMs: 2_000 });
    for (const yes of ['yes', 'ok', '👍', 'Yes!', 'allow'])
      expect(means(yes)).toMatchObject({ kind: 'decides', answer: { decision: 'allow' } });
    for (const no of ['no', 'nope', 'skip'])
      expect(means(no)).toMatchObject({ kind: 'decides', answer: { decision: 'deny' } });
    for (const words of ['yes, but in Rust', 'leave out the tests', 'plan less, please', 'I do not know'])
      expect(means(words)).toEqual({ kind: 'answers', question: 'p', text: words });
    for (const other of ['undo', 'redo', 'plan: something else', 'clone https://example.com/a.git'])
      expect(means(other)).toMatchObject({ kind: 'unclear' });
    expect(means('7')).toMatchObject({ kind: 'unclear' });
    // a long one is agreed to only when all of it was shown
    expect(means('yes', { ...plan, unread: true })).toMatchObject({ kind: 'unread' });
    expect(means('more', { ...plan, unread: true })).toMatchObject({ kind: 'more' });
    expect(means('leave out the tests', { ...plan, unread: true })).toMatchObject({ kind: 'answers' });
  });
});

describe('what a run is told of its plan', () => {
  const plan = { step: 1, text: 'Do it.', files: ['a.ts'] };
  const changes = { decision: 'answered' as const, words: 'in Rust', changes: ['in Rust'] };
  const agreed = { decision: 'allow' as const, words: 'allow', changes: ['in Rust'] };
  const known = { heard: true, knows: true };

  it('is to plan first, to change the plan, and to carry it out', () => {
    expect(aboutPlan({ plan: null }, { plan: true }, { ...known, said: null })).toEqual([PLAN_FIRST]);
    expect(aboutPlan({ plan }, { plan: true }, { ...known, said: changes })).toEqual([changePlan('in Rust')]);
    expect(aboutPlan({ plan }, {}, { ...known, said: agreed })).toEqual([agreedPlan(['in Rust'])]);
    expect(agreedPlan(['in Rust'])).toMatch(/agreed[\s\S]*- in Rust$/);
    expect(aboutPlan({ plan }, {}, { ...known, said: null })).toEqual([AGREED]);
    expect(aboutPlan({ plan: null }, {}, { ...known, said: null })).toEqual([]);
  });

  it('is that it only plans, when it hears an answer, and the whole plan when its session does not know it', () => {
    expect(aboutPlan({ plan: null }, { plan: true }, { said: null, heard: false, knows: true })).toEqual([
      STILL_PLANNING,
    ]);
    expect(aboutPlan({ plan }, { plan: true }, { said: changes, heard: true, knows: false })[0]).toBe(
      'The plan so far:\nDo it.\nFiles:\n- a.ts',
    );
    expect(aboutPlan({ plan }, {}, { said: null, heard: true, knows: false })[0]).toMatch(
      /^The plan that the person has agreed to:\nDo it\./,
    );
  });
});

describe('the practice agent', () => {
  it('plans its clauses and the files that they write, and changes them as it is told', () => {
    expect(planOf(['write a.txt a', 'run ls', 'append a.txt b'])).toBe(
      '1. write a.txt a\n2. run ls\n3. append a.txt b\n\nFiles:\n- a.txt',
    );
    expect(changedBy(['write a.txt a', 'run ls'], 'without 1')).toEqual(['run ls']);
    expect(changedBy(['run ls'], 'write b.txt b; say ok')).toEqual(['run ls', 'write b.txt b', 'say ok']);
    expect(changedBy(['run ls'], 'make it nicer')).toEqual(['run ls', 'say make it nicer']);
  });

  it('has what the goal says for the case that tests fail', () => {
    expect(repairsOf(['write a b', 'repair write a c', 'repair', 'repair say no'])).toEqual(['write a c', 'say no']);
  });
});

describe('the steps that an agent keeps for itself', () => {
  const step = (content: string, status = 'pending') => ({ content, status });

  it('are told as a list to tick off', () => {
    expect(
      stepsInWords([step('read the code', 'completed'), step('write\ntests', 'in_progress'), step('say so')]),
    ).toBe('☑ read the code\n☐ write tests\n☐ say so');
    expect(stepsInWords([])).toBe('');
  });

  it('are told around what is done now, where they are many', () => {
    const many = Array.from({ length: 40 }, (_, n) => step(`step ${n + 1}`, n < 20 ? 'completed' : 'pending'));
    const lines = stepsInWords(many).split('\n');
    expect([lines.length, lines[0], lines[1], lines[3], lines.at(-1)]).toEqual([
      14,
      '☑ 18 before',
      '☑ step 19',
      '☐ step 21',
      '☐ 10 more',
    ]);
    expect(
      stepsInWords(many.map((each) => ({ ...each, status: 'completed' })))
        .split('\n')
        .at(-1),
    ).toBe('☑ step 40');
  });
});
