import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { prepareCall, tools } from '../../src/tools/registry.ts';
import { dangerOf } from '../../src/tools/tool.ts';
import { CONTRACT } from './contract-tools.ts';

/** The declarations of the contract's tools. What they return is in `tools-run.test.ts`. */

const prepared = (name: string, args: object) => prepareCall(name, JSON.stringify(args));

describe.each(Object.entries(CONTRACT))(
  '%s',
  (name, { danger, call, accepts = [], refuses = [], needs = [], defaults = {} }) => {
    it(`is ${danger}`, () => {
      const it = prepared(name, call);
      expect(it).toMatchObject({ ok: true });
      if (it.ok) expect(dangerOf(it.tool, it.args)).toBe(danger);
    });

    it('has no other required arguments, and says of each that is missing that it is', () => {
      const { required = [] } = z.toJSONSchema(tools.get(name)!.schema, { io: 'input', unrepresentable: 'any' });
      expect(required.toSorted()).toEqual(needs.toSorted());
      for (const need of needs) {
        const { [need]: _, ...rest } = call;
        expect(prepared(name, rest)).toEqual({ ok: false, error: expect.stringContaining(need) });
      }
    });

    it('fills in the defaults', () => {
      const it = prepared(name, call);
      if (it.ok)
        expect(it.args).toMatchObject(
          Object.fromEntries(Object.entries(defaults).filter(([, value]) => value !== undefined)),
        );
    });

    it('takes what is within the limits, and nothing beyond them', () => {
      for (const args of accepts)
        expect([args, prepared(name, { ...call, ...args })]).toMatchObject([args, { ok: true }]);
      for (const args of refuses)
        expect([args, prepared(name, { ...call, ...args })]).toMatchObject([args, { ok: false }]);
    });

    it('refuses an argument that the contract does not know', () => {
      expect(prepared(name, { ...call, nonsense: 1 })).toEqual({
        ok: false,
        error: expect.stringContaining('nonsense'),
      });
    });
  },
);

it('steps of a workflow cannot be tools that orchestrate or ask', () => {
  const barred = [...tools.values()].filter(({ notARoutineStep }) => notARoutineStep).map(({ name }) => name);
  expect(barred).toEqual(
    expect.arrayContaining([
      'workflow_create',
      'workflow_run',
      'workflow_delete',
      'cron_create',
      'cron_delete',
      'cron_run',
      'ask_user',
      'report_progress',
    ]),
  );
});

it('has as many tools in each family as the contract says', () => {
  const families: Record<string, [count: number, members: RegExp]> = {
    workspace: [9, /^(workspace|file|folder)_/],
    task: [4, /^task_/],
    interaction: [2, /^(ask_user|report_progress)$/],
    github: [8, /^github_/],
    web: [2, /^web_/],
    browser: [4, /^browser_(?!test)/],
    execution: [11, /^(workflow|cron|app)_|^browser_test$/],
  };
  const names = Object.keys(CONTRACT);
  for (const [family, [count, members]] of Object.entries(families))
    expect([family, names.filter((name) => members.test(name)).length]).toEqual([family, count]);
  expect(names).toHaveLength(40);
});
