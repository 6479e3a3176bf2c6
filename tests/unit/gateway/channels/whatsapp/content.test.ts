import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandEvidence } from '../../../../../src/domain/text/evidence.ts';
import { takeAttachments } from '../../../../../src/gateway/channels/shared/markdown.ts';
import {
  type Part,
  type Writing,
  write,
  writeProgress,
} from '../../../../../src/gateway/channels/whatsapp/outbound/compose.ts';
import { plainWords } from '../../../../../src/gateway/channels/whatsapp/text/markup.ts';
import type { Asked } from '../../../../../src/store/chats/messages/outgoing.ts';
import { holds } from '../../../../support/property.ts';

const asked = (fields: Partial<Asked>): Asked => ({
  id: 'qst_1',
  kind: 'question',
  prompt: 'Which one?',
  options: [],
  number: 1,
  isWhole: false,
  evidence: null,
  rest: 0,
  reminder: false,
  ...fields,
});
const writing = (body: string, fields: Partial<Writing> & { question?: Asked } = {}): Writing => ({
  row: { kind: 'answer', body, question: fields.question ?? null },
  ageMs: 0,
  textLimit: 4000,
  polls: false,
  ...fields,
});
const textOf = (part: Part | undefined): string =>
  part?.kind === 'text' ? part.text : part?.kind === 'file' ? part.caption : '';
const texts = (input: Writing): string[] => write(input).parts.map(textOf);

describe('what an answer becomes on WhatsApp', () => {
  it('is one message when it is short', () => {
    expect(texts(writing('**Done.** See `a_b`.'))).toEqual(['*Done.* See `a_b`.']);
  });

  it('begins with the name of who writes on a shared number, once and within the limit', () => {
    const long = 'a word and another one. '.repeat(60);
    const said = texts(writing(long, { textLimit: 500, name: 'Rex' }));
    expect(said.filter((text) => text.startsWith('Rex: '))).toHaveLength(1);
    expect(said[0]).toMatch(/^Rex: a word/);
    expect(Math.max(...said.map(({ length }) => length))).toBeLessThanOrEqual(500);
    const question = asked({ options: ['red', 'blue'], prompt: 'Which colour?' });
    expect(write(writing('', { question, polls: true, name: 'Rex' })).parts[0]).toMatchObject({
      kind: 'poll',
      name: 'Rex: Which colour?',
    });
    expect(writeProgress(writing('half done', { name: 'Rex' }))).toBe('Rex: half done');
  });

  it('loses no word, however it is cut, in messages or in its file', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9äöüé]{1,12}$/);
    const body = fc.array(fc.array(word, { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 60 });
    holds(
      fc.property(
        body,
        fc.integer({ min: 200, max: 1000 }),
        fc.integer({ min: 0, max: 100 * 3_600_000 }),
        (paragraphs, textLimit, ageMs) => {
          const said = paragraphs.map((words) => words.join(' ')).join('\n\n');
          const { parts } = write(writing(said, { textLimit, ageMs }));
          const file = parts.find((part) => part.kind === 'file');
          if (file?.kind === 'file') expect(file.data.toString()).toBe(said);
          else {
            const words = plainWords(parts.map(textOf).join('\n'));
            for (const each of paragraphs.flat()) expect(words).toContain(each);
          }
          for (const part of parts) expect(textOf(part).length).toBeLessThanOrEqual(Math.max(textLimit, 1200));
        },
      ),
      { runs: 150 },
    );
  });

  it('says at its beginning how old it is when it waited for more than an hour', () => {
    expect(texts(writing('Done.', { ageMs: 3 * 3_600_000 }))[0]).toBe(
      '(written 3 h ago, while WhatsApp was away)\n\nDone.',
    );
    expect(texts(writing('Done.', { ageMs: 60_000 }))[0]).toBe('Done.');
  });

  it('is a file with its beginning above it when it would be more than five messages', () => {
    const body = Array.from({ length: 3000 }, (_, index) => `line ${index}`).join('\n');
    const { parts } = write(writing(body));
    expect(parts).toHaveLength(1);
    expect(parts[0]).toMatchObject({ kind: 'file', mime: 'text/plain', data: Buffer.from(body) });
    expect(textOf(parts[0])).toMatch(/^line 0\nline 1[\s\S]*\n\nThe whole text is in the file\.$/);
  });

  it('is messages when its file could not be uploaded', () => {
    const body = 'word '.repeat(6000);
    const { parts } = write(writing(body, { noFiles: true }));
    expect(parts.length).toBeGreaterThan(5);
    expect(plainWords(parts.map(textOf).join(' '))).toHaveLength(6000);
  });

  it('is never empty: WhatsApp refuses a message without text', () => {
    expect(texts(writing(''))).toEqual(['(an empty message)']);
    expect(texts(writing('\n \n'))).toEqual(['(an empty message)']);
  });

  it('brings the files that it names, and only text where code names them', () => {
    const { parts } = write(writing('Here:\n\n![a chart](attachment:att_1)\n\n```\n![no](attachment:att_2)\n```'));
    expect(parts.map(({ kind }) => kind)).toEqual(['text', 'attachment']);
    expect(textOf(parts[0])).toContain('![no](attachment:att_2)');
    expect(parts[1]).toMatchObject({ attached: { id: 'att_1', caption: 'a chart' } });
    expect(takeAttachments('![x](attachment:att_3)')).toEqual({
      markdown: '',
      attached: [{ id: 'att_3', caption: 'x' }],
    });
    expect(takeAttachments(`${'>'.repeat(3000)} ![x](attachment:att_3)`).attached.length).toBeLessThanOrEqual(1);
    expect(write(writing('![x](attachment:att_3)')).parts.map(({ kind }) => kind)).toEqual(['attachment']);
  });
});

describe('a question', () => {
  it('numbers its choices, which stay as they were written', () => {
    const question = asked({ prompt: 'Which *one*?', options: ['snake_case', '*stars*', '3. third'] });
    const [text] = texts(writing('', { question }));
    expect(text).toMatch(/^Which _one_\?\n\n1\. snake_case\n2\. /);
    expect(text!.replaceAll('\u200b', '')).toContain('2. *stars*\n3. 3. third');
    expect(write(writing('', { question })).parts.every(({ asks }) => asks)).toBe(true);
  });

  it('shows its choices also when its code was not closed', () => {
    const [text] = texts(writing('', { question: asked({ prompt: 'See\n```\ncode', options: ['yes', 'no'] }) }));
    expect(text).toMatch(/```\n\n1\. yes\n2\. no$/);
  });

  it('is a poll when polls are wanted and WhatsApp can show it as one', () => {
    const question = asked({ options: ['red', 'blue'] });
    expect(write(writing('', { question, polls: true })).parts).toEqual([
      { kind: 'poll', name: 'Which one?', options: ['red', 'blue'], asks: true },
    ]);
    const long = asked({ prompt: 'word '.repeat(100), options: ['red', 'blue'] });
    expect(write(writing('', { question: long, polls: true })).parts.map(({ kind }) => kind)).toEqual(['text', 'poll']);
    const many = asked({ options: Array.from({ length: 13 }, (_, index) => `option ${index}`) });
    expect(write(writing('', { question: many, polls: true })).parts.map(({ kind }) => kind)).toEqual(['text']);
    expect(
      write(writing('', { question: asked({ options: ['same', 'same '] }), polls: true })).parts.map(
        ({ kind }) => kind,
      ),
    ).toEqual(['text']);
  });

  it('of a coding task is its own message, which a quote or a reaction answers', () => {
    const question = asked({ kind: 'approval', prompt: 'May codex do this?', isWhole: true });
    expect(write(writing('May codex do this?', { question })).parts).toEqual([
      { kind: 'text', text: 'May codex do this?', asks: true },
    ]);
  });

  it('is repeated as text when the person is reminded of it', () => {
    const question = asked({ options: ['red', 'blue'], reminder: true });
    expect(texts(writing('', { question, polls: true }))).toEqual([
      'I am still waiting for your answer:\n\nWhich one?\n\n1. red\n2. blue',
    ]);
  });
});

describe('an approval', () => {
  const approval = (evidence: string, rest = 0): Asked =>
    asked({ kind: 'approval', prompt: 'Delete src/old_*.ts in demo?', evidence, rest });

  it('shows what it is decided by byte for byte and says how to answer', () => {
    const evidence = commandEvidence('rm *old* _new_ ~x~ `y` ```\n/tmp');
    const [text] = texts(writing('', { question: approval(evidence) }));
    expect(text).toContain(evidence);
    expect(text).toMatch(/^Delete src\/old_\*\.ts in demo\?\n\n/);
    expect(text).toMatch(/\n\nAnswer yes, no, or "always" to stop asking\. 👍 and 👎 work, too\.$/);
  });

  it('shows characters that would make it look like something else', () => {
    const [text] = texts(
      writing('', { question: { ...approval('x'), prompt: 'Delete a\u202etxt.exe\u200b in demo?' } }),
    );
    expect(text).toContain('a⟨U+202E⟩txt.exe⟨U+200B⟩');
    expect(text).not.toMatch(/[\u202e]/);
  });

  it('says how to read on where it is longer than a page', () => {
    const [text] = texts(writing('', { question: approval('│ x', 4_200) }));
    expect(text).toMatch(
      /This is the beginning\. Say "more" to read on\. Answer yes, no, or "always" to stop asking\.$/,
    );
  });
});

it('keeps a progress report in one message, because it replaces the one before it', () => {
  expect(writeProgress(writing('step 3 of **5**'))).toBe('step 3 of *5*');
  expect(writeProgress(writing('word '.repeat(3000))).length).toBeLessThanOrEqual(4000);
  expect(writeProgress(writing(''))).toBe('…');
});
