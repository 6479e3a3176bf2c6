import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Called,
  type DialogueMessage,
  fittedTo,
  shownWithin,
  toModelMessages,
} from '../../../src/domain/chat/context/context.ts';
import { budgetWithin, contextIn, summedWithin, tooSmallText } from '../../../src/domain/model/context-size.ts';
import { tellFailure } from '../../../src/domain/model/failure-text.ts';
import type { FileShown } from '../../../src/domain/text/files.ts';
import { offeredTools } from '../../../src/tools/offer.ts';
import { requestTokens } from '../../support/request-tokens.ts';

describe('the size of a context', () => {
  it.each([
    ['the request exceeds the available context size (4096 tokens), try increasing it', 4_096],
    ["This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8_192],
    ['The number of tokens to keep from the initial prompt is greater than the context length of 4096', 4_096],
    ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
    ['prompt is too long: 210000 tokens > 200,000 maximum', 200_000],
    ['Prompt contains 40000 tokens, too large for model with 32768 maximum context length', 32_768],
    ['input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000', 200_000],
    ['Range of input length should be [1, 98304]', 98_304],
    ['Your request exceeded model token limit: 131072 (requested: 140000)', 131_072],
    ['Input tokens exceed the configured limit of 272,000 tokens.', 272_000],
    ['too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.', 4_081],
    ['The decoder prompt (length 5000) is longer than the maximum model length of 4096.', 4_096],
    ['prompt token count of 70000 exceeds the limit of 64000', 64_000],
    ['exceeds maximum context size: 5000 > 4096', 4_096],
    ['input length (5000 tokens) exceeds the maximum allowed length (4096 tokens)', 4_096],
    ['exceeded max context length by 5000 tokens', null],
    ['context window exceeds limit (2013)', null],
    ['input is too long', null],
    ['maximum context length is 5 tokens', null],
  ])('in "%s" is %s', (refusal, size) => {
    expect(contextIn(refusal)).toBe(size);
  });

  it('is never shared out beyond itself, and is not cut where it is unknown', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_024, max: 300_000 }),
        fc.integer({ min: 1_000, max: 200_000 }),
        (context, most) => {
          const { history, tools } = budgetWithin(context, most);
          expect(history).toBeGreaterThanOrEqual(0);
          expect(history).toBeLessThanOrEqual(most);
          expect(history + Math.min(tools, 3_000)).toBeLessThan(context);
        },
      ),
    );
    expect(budgetWithin(undefined, 50_000)).toEqual({
      history: 50_000,
      tools: Number.POSITIVE_INFINITY,
      room: Number.POSITIVE_INFINITY,
    });
  });

  it('of 8,192 holds the whole core of the tools, and one of 4,096 its most important ones', () => {
    const names = (context: number) =>
      offeredTools(
        { access: { mode: 'agent', allowShell: true }, added: new Map(), opened: [] },
        { tools: 128, tokens: budgetWithin(context, 1e6).tools },
      ).map(({ name }) => name);
    expect(names(8_192)).toHaveLength(20);
    expect(names(4_096)).toEqual(
      expect.arrayContaining(['ask_user', 'open_tools', 'file_read', 'file_edit', 'file_write']),
    );
  });
});

describe('a request that no context holds', () => {
  it.each([
    [
      'request (3100 tokens) exceeds the available context size (2048 tokens), try increasing it',
      2_048,
      'needs about 3,100 tokens',
      'llama.cpp with a larger `-c`',
    ],
    [
      "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens",
      2_048,
      'needs about 3,000 tokens',
      '--max-model-len',
    ],
    [
      'the endpoint read only a part of the request, because it has a context size of 2048 tokens',
      2_048,
      'needs about 2,900 tokens',
      'OLLAMA_CONTEXT_LENGTH',
    ],
    ['the prompt is greater than the context length', 2_048, 'needs about 2,900 tokens', 'Context Length in LM Studio'],
    ['the prompt is too long', 4_096, 'needs more', '`OLLAMA_CONTEXT_LENGTH` of Ollama, `-c` of llama.cpp'],
  ])('is told with both sizes and the setting of the server: %s', (refusal, context, needs, setting) => {
    const message = tooSmallText(refusal, { context, needed: 2_900, local: true });
    expect(message).toContain(`: it has ${context.toLocaleString('en-US')} tokens, and this request ${needs}`);
    expect(message).toContain(setting);
    expect(tellFailure({ type: 'ContextOverflow', message })).toBe(message);
  });

  it('of a provider is told without a setting, and without a size that is not known', () => {
    const refusal = "This model's maximum context length is 2048 tokens.";
    expect(tooSmallText(refusal, { context: 2_048, needed: 2_900, local: false })).toMatch(
      /needs about 2,900 tokens\. Choose a model with a larger context/,
    );
    expect(tooSmallText('too long', { context: undefined, needed: 2_900, local: false })).toMatch(
      /is too small: this request needs about 2,900 tokens\./,
    );
    expect(tooSmallText('too long', { context: undefined, needed: undefined, local: false })).toMatch(
      /is too small\. Choose/,
    );
  });
});

it('a part of a long dialogue that is summed up leaves room for the earlier summary, the instruction and the answer', () => {
  expect(summedWithin(undefined, 48_000)).toBe(48_000);
  expect(summedWithin(4_096, 48_000)).toBeLessThan(1_300);
  expect(summedWithin(1_000_000, 48_000)).toBe(48_000);
});

describe('what is shown on a small model', () => {
  const text = readFileSync(new URL('../../../src/domain/chat/context/context.ts', import.meta.url), 'utf8');
  const offer = { access: { mode: 'agent', allowShell: true }, added: new Map(), opened: [] } as const;

  it.each([4_096, 8_192])('of %i tokens: a turn that reads a long file in many parts fits at every step', (context) => {
    const budget = budgetWithin(context, 48_000);
    const tools = offeredTools(offer, { tools: 128, tokens: budget.tools });
    const messages: DialogueMessage[] = [{ ord: 1, role: 'user', content: 'Read it all.', call_ids: [], tokens: 8 }];
    const calls = new Map<string, Called>();
    const shown = shownWithin(budget);
    for (let n = 1; n <= 6; n++) {
      const id = `call_${n}`;
      messages.push({ ord: n + 1, role: 'assistant', content: '', call_ids: [id], tokens: 4 });
      calls.set(id, {
        id,
        name: 'read_output',
        args: { callId: 'call_0', offset: n * 1_000 },
        state: 'done',
        output: text.slice(0, 8_001),
        size: 60_000,
      });
      const sent = toModelMessages(
        's'.repeat(1_500),
        null,
        messages,
        calls,
        new Map(),
        fittedTo(budget.room, shown, messages, calls),
      );
      expect(requestTokens(sent, tools)).toBeLessThan(context * 0.85);
      const newest = sent.at(-1)!.content;
      expect(newest.length).toBeGreaterThan(shown.output);
      expect(newest).toContain(`read on with read_output {"callId":"${id}","offset":${shown.output}}`);
    }
  });

  it('of 4,096 tokens is the beginning of a long message, of its document and of the summary', () => {
    const shown = shownWithin(budgetWithin(4_096, 48_000));
    const document: FileShown = { id: 'att_1', kind: 'document', name: 'a.txt', text, picture: null };
    const said: DialogueMessage = {
      id: 'msg_1',
      ord: 1,
      role: 'user',
      content: text,
      call_ids: [],
      attachment_ids: ['att_1'],
      tokens: 5_000,
    };
    const [, summary, message] = toModelMessages('s', text, [said], new Map(), new Map([['att_1', document]]), shown);
    expect(summary!.content.length).toBeLessThan(2_200);
    expect(message!.content.length).toBeLessThan(4_400);
    expect(message!.content).toContain('read on with read_output {"callId":"att_');
  });

  it('is as before where the context is large or not known', () => {
    for (const context of [undefined, 200_000])
      expect(shownWithin(budgetWithin(context, 48_000))).toEqual({ message: 96_000, output: 8_000 });
  });
});
