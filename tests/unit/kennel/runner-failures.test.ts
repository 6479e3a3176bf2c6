import { describe, expect, it } from 'vitest';
import { failureByError, sentence, sessionFailure, type Turn } from '../../../kennel/runner/profile/profile.ts';
import { limitInFailure } from '../../../src/domain/model/agent-limit.ts';

const NOW = Date.UTC(2026, 10, 22, 8);
const turn = (more: Partial<Turn>): Turn => ({
  response: null,
  error: null,
  lastText: '',
  tools: 0,
  seen: null,
  ...more,
});
const ended = (failure: object): Turn =>
  turn({
    response: {
      stopReason: 'end_turn',
      _meta: { jetbrains: { air: { sessionFailure: { severity: 'error', ...failure } } } },
    } as Turn['response'],
  });

describe('the sentence for an error', () => {
  it('has the details that stand in its data, once', () => {
    expect(sentence({ code: -32603, message: 'Internal error', data: { details: 'no such model' } })).toBe(
      "The agent's request failed (-32603): Internal error: no such model",
    );
    expect(sentence({ code: 429, message: 'Rate limit exceeded.', data: 'Rate limit' })).toBe(
      "The agent's request failed (429): Rate limit exceeded.",
    );
    expect(failureByError(turn({ error: { code: -32603, message: 'Internal error', data: null } }))).toBe(
      "The agent's request failed (-32603): Internal error",
    );
  });

  it.each([
    ['rate_limit', { kind: 'wait', waitMs: null, overload: false }],
    ['overloaded', { kind: 'wait', waitMs: null, overload: true }],
    ['billing_error', { kind: 'person' }],
    ['server_error', null],
    [7, null],
  ])('ends with the kind %s of Claude Code, which says whether it is a limit', (errorKind, limit) => {
    const said = sentence({ code: -32603, message: 'Internal error', data: { errorKind } });
    expect(said).toBe(
      `The agent's request failed (-32603): Internal error${typeof errorKind === 'string' ? ` (${errorKind})` : ''}`,
    );
    expect(limitInFailure(said, NOW)).toEqual(limit);
  });

  it('keeps the time that stands before the kind', () => {
    const said = sentence({
      code: -32603,
      message: "Internal error: You've hit your limit · resets 9am",
      data: { errorKind: 'rate_limit' },
    });
    expect(limitInFailure(said, NOW)).toEqual({ kind: 'wait', waitMs: 3_600_000, overload: false });
  });
});

describe('the sentence for a failed session', () => {
  it('has the title and the category', () => {
    expect(sessionFailure(ended({ title: 'API Error: 500', category: 'service', actions: ['retry'] }))).toBe(
      'API Error: 500 (service)',
    );
    expect(sessionFailure(ended({}))).toBe('The agent could not go on');
    expect(sessionFailure(ended({ severity: 'warning', title: 'Reconnecting' }))).toBeNull();
  });

  it('tells the limit of an account from that of a session', () => {
    const used = sessionFailure(ended({ title: 'All of it is used', category: 'limit', actions: [] }))!;
    const fast = sessionFailure(ended({ title: 'Too fast', category: 'limit', actions: ['retry'] }))!;
    const full = sessionFailure(ended({ title: 'The context is full', category: 'limit', actions: ['new_session'] }))!;
    expect([used, fast, full]).toEqual([
      'All of it is used (usage limit)',
      'Too fast (usage limit)',
      'The context is full (limit)',
    ]);
    const later = { kind: 'wait', waitMs: null, overload: false };
    expect([used, fast, full].map((said) => limitInFailure(said, NOW))).toEqual([later, later, null]);
  });

  it('is still a matter for a person when money is missing', () => {
    const said = sessionFailure(ended({ title: 'Credit balance is too low', category: 'limit', actions: [] }))!;
    expect(limitInFailure(said, NOW)).toEqual({ kind: 'person' });
  });
});
