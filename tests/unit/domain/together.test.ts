import { describe, expect, it } from 'vitest';
import { answerWithoutModel } from '../../../src/activities/turn/step/words.ts';
import {
  asksForParts,
  bringWords,
  parseBring,
  parseChoice,
  parseParts,
  parseTogether,
  partsWords,
} from '../../../src/domain/chat/words/race-words.ts';
import { toolsInWords } from '../../../src/domain/chat/words/tool-words.ts';
import type { Verdict } from '../../../src/domain/tasks/checks/verdict.ts';
import { type Attempt, allOverText, bestOf, oneOverText } from '../../../src/domain/tasks/together.ts';
import { english } from '../../../src/domain/texts/say.ts';

describe('the words of several tasks at once', () => {
  it('name attempts at one goal, and who tries', () => {
    expect(parseTogether('race 3: fix the parser')).toEqual({
      kind: 'race',
      tasks: [{ goal: 'fix the parser' }, { goal: 'fix the parser' }, { goal: 'fix the parser' }],
    });
    expect(parseTogether('/race two in Shop: fix: the\nparser')).toEqual({
      kind: 'race',
      workspace: 'Shop',
      tasks: [{ goal: 'fix: the\nparser' }, { goal: 'fix: the\nparser' }],
    });
    expect(parseTogether('race 2 plans in shop: go')?.tasks).toEqual([
      { goal: 'go', plan: true },
      { goal: 'go', plan: true },
    ]);
    expect(parseTogether('race claude, codex plans: go')?.tasks).toEqual([
      { goal: 'go', agent: 'claude', plan: true },
      { goal: 'go', agent: 'codex', plan: true },
    ]);
    expect([parseTogether('race plans: go'), parseTogether('race 1 plans: go')]).toEqual([null, null]);
    expect(parseTogether('Race claude and codex in shop: go')?.tasks).toEqual([
      { goal: 'go', agent: 'claude' },
      { goal: 'go', agent: 'codex' },
    ]);
  });

  it('list parts of a goal', () => {
    const parts = [{ goal: 'the login page' }, { goal: 'its tests' }];
    expect(parseTogether('split: the login page; its tests')).toEqual({ kind: 'split', tasks: parts });
    expect(parseTogether('split in shop:\n- the login page\n2. its tests')).toEqual({
      kind: 'split',
      workspace: 'shop',
      tasks: parts,
    });
    expect(parseTogether('split codex: a; b')?.tasks).toEqual([
      { goal: 'a', agent: 'codex' },
      { goal: 'b', agent: 'codex' },
    ]);
    expect(asksForParts('split codex in shop: a shop with a basket')).toBe(true);
    expect(asksForParts('split: a shop with a basket')).toBe(true);
    expect(parseTogether('split: a shop with a basket')).toBeNull();
  });

  it.each([
    'race: fix it',
    'race 1: fix it',
    'race 6: fix it',
    'race 3:',
    'race nobody, codex: fix it',
    'race conditions: what are they?',
    'the race 3: who won?',
    'split the bill: 3 ways; 4 ways',
    'race 3 fix it',
  ])('are not in: %s', (text) => expect(parseTogether(text)).toBeNull());

  it('choose by a number', () => {
    expect(parseChoice('2')).toEqual({ attempt: 2, again: false });
    expect(parseChoice('Choose 3.')).toEqual({ attempt: 3, again: true });
    expect(parseChoice('merge')).toBe('all');
    for (const text of ['0', '12', 'choose wisely', 'merge the branch', '2 of them'])
      expect(parseChoice(text), text).toBeNull();
  });

  it('name parts of several attempts, and what an agent is to make of them', () => {
    const goal = 'the code of 1: with\nthe tests of 2';
    expect(parseParts(`1 and 2: ${goal}`)).toEqual({ attempts: [1, 2], goal, again: false });
    expect(parseParts('#3, 1 und 2: alles')).toEqual({ attempts: [3, 1, 2], goal: 'alles', again: false });
    const parts = { attempts: [1, 3], goal };
    expect(parseParts(partsWords(parts))).toEqual({ ...parts, again: true });
    expect(toolsInWords(partsWords(parts))).toEqual([{ name: 'task_create', arguments: { goal, attempts: [1, 3] } }]);
    for (const text of ['1: all', '1 and 1: all', '1 and 2:', '1 and 2', '12: go', 'at 1 and 2: go', '1 2: go'])
      expect(parseParts(text), text).toBeNull();
    // without a race it is a sentence like any other
    expect(toolsInWords('1 and 2: the code of 1')).toEqual([]);
  });

  it('become the calls that they name, without a model', () => {
    const answer = answerWithoutModel([{ role: 'user', content: 'race 3 in shop: fix it' }], {
      key: 'turn_1/1',
      step: 1,
      call: null,
      modelName: 'm',
      say: english,
    });
    expect(answer?.calls.map(({ name, arguments: args }) => [name, JSON.parse(args)])).toEqual(
      Array.from({ length: 3 }, () => ['task_create', { goal: 'fix it', workspace: 'shop' }]),
    );
    expect(new Set(answer?.calls.map(({ id }) => id)).size).toBe(3);
    const brought = { tasks: ['12', '13'], workspace: 'shop' };
    expect(parseBring(bringWords(brought))).toEqual(brought);
    expect(toolsInWords(bringWords(brought))).toEqual([{ name: 'task_bring', arguments: brought }]);
    expect(parseBring('bring in the milk to mother')).toBeNull();
  });
});

const file = (path: string, added = 1) => ({ path, status: 'modified', added, removed: 0 });
const attempt = (
  verdict: Partial<Verdict> | null,
  files: ReturnType<typeof file>[],
  more: Partial<Attempt> = {},
): Attempt => ({
  goal: 'fix the parser',
  harness: 'claude',
  state: 'completed',
  reason: '',
  seconds: 90,
  spent: { calls: 2, inputTokens: 900, outputTokens: 100, microUsd: 120_000 },
  result: {
    changes: {
      commit: 'abc',
      branch: 'fetch/tsk_a',
      files,
      added: files.reduce((sum, { added }) => sum + added, 0),
      removed: 0,
    },
    tests: null,
    said: '',
    ...(verdict && {
      verdict: {
        level: 'verified',
        headline: ', tests pass',
        reasons: [],
        passed: 3,
        failed: 0,
        skipped: 0,
        ...verdict,
      },
    }),
  },
  ...more,
});

describe('attempts that are over', () => {
  const worse = { level: 'unverified', headline: ', but 2 tests fail', failed: 2 } as const;

  it('stand side by side with what the checks say, the size, the time and the cost', () => {
    const text = allOverText(
      'race',
      [
        attempt(worse, [file('a.ts')]),
        attempt({}, [file('a.ts', 40), file('b.ts')], { harness: 'codex' }),
        attempt(null, [], { state: 'failed', reason: 'The model said no.' }),
      ],
      'shop',
    );
    expect(text).toMatch(/^All 3 attempts in shop are over: "fix the parser"/);
    expect(text).toContain('1. claude: but 2 tests fail, 1 file (+1 -0), 1 min 30 s, $0.12');
    expect(text).toContain('2. codex: tests pass, 2 files (+41 -0), 1 min 30 s, $0.12');
    expect(text).toContain('3. claude: not done, The model said no');
    expect(text).toMatch(/size of the change: 2\. Answer with a number/);
    expect(text).toContain('For parts of several, say for example "1 and 2: ');
  });

  it('have the goal of one that joins parts of others, and name no parts where one alone changed something', () => {
    const [one, two] = [attempt({}, [file('a.ts')]), attempt({}, [file('b.ts')])];
    const text = allOverText('race', [one, two, { ...one, goal: 'a of 1, b of 2' }], 'shop');
    expect(text).toMatch(/^All 3 attempts in shop are over: "fix the parser"/);
    expect(text).toContain('\n3. claude, "a of 1, b of 2": tests pass');
    expect(allOverText('race', [one, attempt({}, [])], 'shop')).not.toContain('For parts of several');
  });

  it('are ranked by the verdict, then by the size of the change, and never without a change', () => {
    expect(bestOf([attempt({}, [file('a', 9)]), attempt({}, [file('a', 2)]), attempt(worse, [file('a', 1)])])).toBe(2);
    expect(bestOf([attempt(null, [file('a')]), attempt({ level: 'partly' }, [file('a', 9)])])).toBe(2);
    expect(bestOf([attempt({}, []), attempt({}, [file('a')], { state: 'cancelled' })])).toBeNull();
    expect(allOverText('race', [attempt({}, []), attempt({}, [])], 'shop')).toMatch(/None of them changed anything/);
  });

  it('are shown as pictures of what each made of a page', () => {
    const [one, two] = [attempt({}, [file('a.css')]), attempt({}, [file('a.css')])];
    const pictured = (of: Attempt, after: string): Attempt => ({
      ...of,
      result: { ...of.result, pictures: [{ page: 'index.html', before: 'att_0', after }] },
    });
    const text = allOverText('race', [pictured(one, 'att_1'), pictured(two, 'att_2')], 'shop');
    expect(text.split('\n\n').at(-1)).toBe('![1: index.html](attachment:att_1)\n![2: index.html](attachment:att_2)');
  });

  it('say which files more than one part changed', () => {
    const text = allOverText('split', [attempt({}, [file('a.ts')]), attempt({}, [file('a.ts'), file('b.ts')])], 'shop');
    expect(text).toContain('Changed by more than one: `a.ts`.');
    expect(text).toMatch(/Say "merge"/);
  });

  it('are told one by one, in a line', () =>
    expect(oneOverText('race', { at: 1, of: 3, attempt: attempt({}, [file('a.ts')]), workspace: 'shop' })).toBe(
      'Attempt 1 of 3 in shop is over: tests pass, 1 file (+1 -0), 1 min 30 s, $0.12. I write when all are.',
    ));
});
