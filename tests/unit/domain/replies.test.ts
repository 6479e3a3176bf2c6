import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type Asked, meaningOf, offeredAnswer, type Written } from '../../../src/domain/chat/words/replies.ts';
import { holds } from '../../support/property.ts';

const NOW = Date.UTC(2026, 10, 22, 12);
const ago = (ms: number): Date => new Date(NOW - ms);
const asked = (id: string, fields: Partial<Asked> = {}): Asked => ({
  id,
  number: 1,
  kind: 'approval',
  options: [],
  deliveredAt: ago(60_000),
  unread: false,
  noAtOnce: fields.kind !== 'question',
  ...fields,
});
const written: Written = { at: new Date(NOW), readMs: 2_000 };
const means = (reply: string, open: Asked[], fields: Partial<Written> = {}) =>
  meaningOf(reply, open, { ...written, ...fields });
const yes = { decision: 'allow', remember: false, skip: false };

describe('a bare word', () => {
  it('decides the one question that was shown before it was written', () => {
    expect(means('yes', [asked('a')])).toEqual({ kind: 'decides', question: 'a', answer: yes });
    expect(means('👍', [asked('a'), asked('b', { number: 2, deliveredAt: null })])).toMatchObject({
      kind: 'decides',
      question: 'a',
    });
    expect(means('yes', [asked('a'), asked('b', { number: 2, deliveredAt: new Date(NOW + 1) })])).toMatchObject({
      kind: 'decides',
      question: 'a',
    });
  });

  it('decides nothing that was not yet shown, or was shown a moment ago', () => {
    for (const deliveredAt of [null, new Date(NOW + 1), new Date(NOW), ago(1_999)])
      expect(means('yes', [asked('a', { deliveredAt })])).toEqual({ kind: 'too early', questions: ['a'] });
    expect(means('2', [asked('a', { kind: 'question', options: ['x', 'y'], deliveredAt: null })])).toMatchObject({
      kind: 'too early',
    });
  });

  it('asks which one is meant where several were shown', () => {
    const open = [asked('a'), asked('b', { number: 2 })];
    for (const reply of ['yes', 'no', 'skip', 'yes all', '1', '👎'])
      expect(means(reply, open)).toEqual({ kind: 'which', questions: ['a', 'b'] });
    // it may be for what was only just shown
    expect(means('yes', [asked('a'), asked('b', { number: 2, deliveredAt: ago(500) })])).toMatchObject({
      kind: 'which',
    });
  });

  it('with a number decides exactly that one', () => {
    const open = [asked('a'), asked('b', { number: 2 })];
    for (const reply of ['yes 2', 'Yes 2.', '2 yes', '2: yes', '#2 yes', '👍 2'])
      expect(means(reply, open)).toEqual({ kind: 'decides', question: 'b', answer: yes });
    expect(means('skip 1', open)).toMatchObject({ kind: 'decides', question: 'a', answer: { skip: true } });
    expect(means('yes 3', open)).toEqual({ kind: 'no such number', number: 3 });
    expect(means('yes 2', [asked('a'), asked('b', { number: 2, deliveredAt: null })])).toEqual({
      kind: 'too early',
      questions: ['b'],
    });
  });

  it('on a quote decides exactly the quoted one', () => {
    expect(means('no', [asked('a'), asked('b', { number: 2, deliveredAt: null })], { on: 'b' })).toMatchObject({
      kind: 'decides',
      question: 'b',
    });
  });

  it('that is no counts at once, where it changes nothing', () => {
    const deliveredAt = ago(100);
    for (const reply of ['no', 'no 1', 'skip', '👎'])
      expect(means(reply, [asked('a', { deliveredAt })])).toMatchObject({
        kind: 'decides',
        answer: { decision: 'deny' },
      });
    const question = asked('q', { kind: 'question', deliveredAt });
    expect(means('no', [question])).toMatchObject({ kind: 'too early' });
    expect(means('no', [asked('a', { deliveredAt: null })])).toMatchObject({ kind: 'too early' });
  });

  it('that quotes another message decides nothing, unless it is no', () => {
    const open = [asked('a'), asked('b', { number: 2 })];
    for (const reply of ['yes', '👍', 'ok', 'yes all', 'yes 2', '2 yes', 'yes unread', 'yes always for push', '1'])
      expect(means(reply, open, { elsewhere: true })).toEqual({ kind: 'elsewhere', questions: ['a', 'b'] });
    expect(means('yes', [], { elsewhere: true })).toBeNull();
    expect(means('no', [asked('a')], { elsewhere: true })).toMatchObject({ kind: 'decides', question: 'a' });
    expect(means('no 2', open, { elsewhere: true })).toMatchObject({ kind: 'decides', question: 'b' });
    const choice = asked('q', { kind: 'question', options: ['blue', 'red'] });
    expect(means('blue', [choice], { elsewhere: true })).toMatchObject({ kind: 'elsewhere' });
    expect(means('the colour of this one', [choice], { elsewhere: true })).toMatchObject({ kind: 'answers' });
  });

  it('that is addressed to nobody answers only what the questions offer', () => {
    const approval = [asked('a'), asked('b', { number: 2 })];
    for (const reply of ['yes', 'Yes.', 'y', 'yes all', 'yes 2', '2 yes', 'yes unread', 'more'])
      expect(offeredAnswer(reply, approval)).toBe('other');
    for (const reply of ['no', 'No!', 'no 2', 'nope', 'skip', '👎']) expect(offeredAnswer(reply, approval)).toBe('no');
    for (const reply of ['ok', '👍', 'okay', '2', 'yes, see you', 'lunch?', 'no idea who that is', 'more of it'])
      expect(offeredAnswer(reply, approval)).toBeNull();
    const choice = [asked('q', { kind: 'question', options: ['blue', 'red'] })];
    for (const reply of ['2', 'Blue', 'yes']) expect(offeredAnswer(reply, choice)).toBe('other');
    expect(offeredAnswer('green', choice)).toBeNull();
    expect(offeredAnswer('2', [asked('q', { kind: 'question' })])).toBeNull();
  });

  it('means nothing where nothing is open', () => expect(means('yes', [])).toBeNull());
});

test('a yes to something of which only the beginning was shown asks to read on, and a no does not', () => {
  const open = [asked('a', { unread: true })];
  expect(means('yes', open)).toEqual({ kind: 'unread', question: 'a' });
  expect(means('yes', open, { on: 'a' })).toEqual({ kind: 'unread', question: 'a' });
  expect(means('more', open)).toEqual({ kind: 'more', question: 'a' });
  expect(means('yes unread', open)).toMatchObject({ kind: 'decides', answer: yes });
  expect(means('no', open)).toMatchObject({ kind: 'decides', answer: { decision: 'deny' } });
});

test('a sentence answers the one question that asks for words, and decides no approval', () => {
  expect(means('the blue one', [asked('a'), asked('q', { number: 2, kind: 'question' })])).toEqual({
    kind: 'answers',
    question: 'q',
    text: 'the blue one',
  });
  expect(means('yes, but not the tests', [asked('a')])).toEqual({ kind: 'unclear', questions: ['a'] });
  const two = [asked('q', { kind: 'question' }), asked('r', { kind: 'question', number: 2 })];
  expect(means('blue', two)).toEqual({ kind: 'which', questions: ['q', 'r'] });
  expect(means('2: blue', two)).toEqual({ kind: 'answers', question: 'r', text: 'blue' });
  expect(means('autonomous', [asked('q', { kind: 'question' })])).toEqual({
    kind: 'answers',
    question: 'q',
    text: 'autonomous',
  });
});

test('no words decide a question that their writer cannot have read', () => {
  const question = fc.record({
    id: fc.uuid(),
    number: fc.integer({ min: 1, max: 5 }),
    kind: fc.constantFrom<Asked['kind']>('question', 'approval'),
    options: fc.array(fc.string({ maxLength: 8 }), { maxLength: 3 }),
    deliveredAt: fc.oneof(
      fc.constant(null),
      fc.integer({ min: -10_000, max: 10_000 }).map((ms) => ago(ms)),
    ),
    unread: fc.boolean(),
    noAtOnce: fc.boolean(),
  });
  const reply = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom('yes', 'no', 'yes 2', '2 no', '1', 'skip', 'yes all', 'more', '3: x', '👍', 'yes unread'),
  );
  holds(
    fc.property(fc.uniqueArray(question, { selector: ({ number }) => number, maxLength: 4 }), reply, (open, text) => {
      const meaning = means(text, open);
      if (!meaning || !('question' in meaning)) return;
      const { deliveredAt, kind, unread } = open.find(({ id }) => id === meaning.question)!;
      expect(deliveredAt).not.toBeNull();
      expect(deliveredAt!.getTime()).toBeLessThanOrEqual(NOW);
      if (meaning.kind !== 'decides') return;
      expect(kind).toBe('approval');
      // a no changes nothing, so it need not have been read
      if (meaning.answer.decision === 'allow') expect(deliveredAt!.getTime()).toBeLessThanOrEqual(NOW - written.readMs);
      if (unread && meaning.answer.decision === 'allow') expect(text).toMatch(/unread/);
    }),
    { runs: 1_000 },
  );
});
