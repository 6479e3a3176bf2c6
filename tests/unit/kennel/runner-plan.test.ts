import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isPlan, newestPlan, planIn } from '../../../kennel/runner/agent/permissions.ts';
import { parseLine } from '../../../src/activities/task/run/log-line.ts';

const text = (words: string) => ({ type: 'content' as const, content: { type: 'text' as const, text: words } });

describe('a plan that an agent hands in with a tool', () => {
  it('is known by what the tool does, not by its name', () => {
    expect(isPlan('switch_mode')).toBe(true);
    expect(isPlan('edit')).toBe(false);
  });

  it('is its argument, else its text, else nothing', () => {
    expect(planIn({ toolCallId: '1', rawInput: { plan: '1. Do it.' }, content: [text('shown')] })).toBe('1. Do it.');
    expect(planIn({ toolCallId: '1', rawInput: { plan: '  ' }, content: [text('1. Do'), text('it.')] })).toBe(
      '1. Do\nit.',
    );
    expect(planIn({ toolCallId: '1', rawInput: { plan_filename: 'plan.md' }, content: [] })).toBeNull();
    expect(planIn({ toolCallId: '1' })).toBeNull();
  });

  it('is the file that was written last, when the request does not have it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'plans-'));
    expect(newestPlan(join(folder, 'missing'))).toBeNull();
    writeFileSync(join(folder, 'notes.txt'), 'no plan');
    expect(newestPlan(folder)).toBeNull();
    writeFileSync(join(folder, 'new.md'), '1. New.\n');
    writeFileSync(join(folder, 'old.md'), '1. Old.\n');
    utimesSync(join(folder, 'old.md'), 1, 1);
    expect(newestPlan(folder)).toBe('1. New.');
  });

  it('is a line of the log that the host reads', () => {
    const line = {
      seq: 1,
      step: 2,
      at: '2026-11-23T04:00:00.000Z',
      type: 'proposal',
      text: '1. Do it.\nFiles:\n- a.ts',
    };
    expect(parseLine(JSON.stringify(line))).toEqual(line);
  });
});
