import { describe, expect, it } from 'vitest';
import { parseGive, parseTake } from '../../../src/domain/chat/words/session-words.ts';
import { toolsInWords } from '../../../src/domain/chat/words/tool-words.ts';

describe('take', () => {
  it.each([
    ['take', {}],
    ['Take it over.', {}],
    ['/take in shop', { workspace: 'shop' }],
    ['take: now the tests\nof it', { goal: 'now the tests\nof it' }],
    ['take in shop: go', { workspace: 'shop', goal: 'go' }],
    ['take\n[document shop.session.gz, 34 kB]', {}],
    ['/take: go\n[document a.gz, 3 kB]\n\n[attached: att_1 (a.gz)]', { goal: 'go' }],
  ])('%j means a session', (text, meant) => expect(parseTake(text)).toEqual(meant));

  it.each(['take 2', 'take the second one', 'take care', 'take a look', 'take in the tests', 'I take it', 'takeover'])(
    '%s is about something else',
    (text) => expect(parseTake(text)).toBeNull(),
  );

  it('is a tool only with a slash: without a file, the words are about something else', () => {
    expect(toolsInWords('take it')).toEqual([]);
    expect(toolsInWords('/take it')).toEqual([{ name: 'session_take', arguments: {} }]);
    expect(toolsInWords('/give 2')).toEqual([{ name: 'session_give', arguments: { task: '2' } }]);
  });
});

describe('give', () => {
  it.each([
    ['give', {}],
    ['Give 2.', { task: '2' }],
    ['give me task 3', { task: '3' }],
    ['/give tsk_ab12', { task: 'tsk_ab12' }],
  ])('%s means a session', (text, meant) => expect(parseGive(text)).toEqual(meant));

  it.each(['give me', 'give me an example', 'give up', 'give 2 examples', 'what does it give'])(
    '%s is about something else',
    (text) => expect(parseGive(text)).toBeNull(),
  );
});
