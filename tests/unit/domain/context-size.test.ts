import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { budgetWithin, contextIn } from '../../../src/domain/model/context-size.ts';
import { offeredTools } from '../../../src/tools/offer.ts';

describe('the size of a context', () => {
  it.each([
    ['the request exceeds the available context size (4096 tokens), try increasing it', 4_096],
    ["This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8_192],
    ['The number of tokens to keep from the initial prompt is greater than the context length of 4096', 4_096],
    ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
    ['prompt is too long: 210000 tokens > 200,000 maximum', 200_000],
    ['Prompt contains 40000 tokens, too large for model with 32768 maximum context length', 32_768],
    ['input is too long', null],
    ['maximum context length is 5 tokens', null],
  ])('in "%s" is %s', (refusal, size) => {
    expect(contextIn(refusal)).toBe(size);
  });

  it('is never shared out beyond itself, and is not cut where it is unknown', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_024, max: 300_000 }), fc.integer({ min: 1_000, max: 200_000 }), (context, most) => {
        const { history, tools } = budgetWithin(context, most);
        expect(history).toBeGreaterThanOrEqual(0);
        expect(history).toBeLessThanOrEqual(most);
        expect(history + Math.min(tools, 3_000)).toBeLessThan(context);
      }),
    );
    expect(budgetWithin(undefined, 50_000)).toEqual({ history: 50_000, tools: Number.POSITIVE_INFINITY });
  });

  it('of 8,192 holds the whole core of the tools, and one of 4,096 its most important ones', () => {
    const names = (context: number) =>
      offeredTools({ access: { mode: 'agent', allowShell: true }, added: new Map(), opened: [] }, { tools: 128, tokens: budgetWithin(context, 1e6).tools }).map(
        ({ name }) => name,
      );
    expect(names(8_192)).toHaveLength(21);
    expect(names(4_096)).toEqual(expect.arrayContaining(['ask_user', 'open_tools', 'file_read', 'file_edit', 'file_write']));
  });
});
