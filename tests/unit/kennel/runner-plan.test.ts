import { describe, expect, it } from 'vitest';
import { isPlan, planIn } from '../../../kennel/runner/agent/plan.ts';

const text = (words: string) => ({ type: 'content' as const, content: { type: 'text' as const, text: words } });

describe('a plan that an agent hands in with a tool', () => {
  it('is known by what the tool does, not by its name', () => {
    expect(isPlan({ toolCallId: '1', kind: 'switch_mode', title: 'Ready to code?' })).toBe(true);
    expect(isPlan({ toolCallId: '1', kind: 'edit', title: 'ExitPlanMode' })).toBe(false);
  });

  it('is its argument, else its text, else nothing', () => {
    expect(planIn({ toolCallId: '1', rawInput: { plan: '1. Do it.' }, content: [text('shown')] })).toBe('1. Do it.');
    expect(planIn({ toolCallId: '1', rawInput: { plan: '  ' }, content: [text('1. Do'), text('it.')] })).toBe('1. Do\nit.');
    expect(planIn({ toolCallId: '1', rawInput: { plan_filename: 'plan.md' }, content: [] })).toBeNull();
    expect(planIn({ toolCallId: '1' })).toBeNull();
  });
});
