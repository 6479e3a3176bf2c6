import { describe, expect, it } from 'vitest';
import type { Autonomy } from '../../../src/contracts/conversation.ts';
import { policyOf } from '../../../src/domain/consent/policy.ts';
import { prepareCall, tools } from '../../../src/tools/registry.ts';
import { dangerOf } from '../../../src/tools/tool.ts';

const LEVELS: Autonomy[] = ['supervised', 'cautious', 'autonomous'];
const verdicts = (name: string, args: object): string[] => {
  const prepared = prepareCall(name, JSON.stringify(args));
  if (!prepared.ok) throw new Error(prepared.error);
  return LEVELS.map((level) => policyOf({ name, danger: dangerOf(prepared.tool, prepared.args) }, level, false));
};

describe('the guard of autonomy', () => {
  it.each([
    'Should I delete the production database?',
    'Shall I proceed?',
    'Would you like me to go on?',
    'Let me know which branch',
    'Can I proceed with the tests?',
  ])('defect 29: never answers a question for the person, whatever its words: %s', (question) =>
    expect(verdicts('ask_user', { question })).toEqual(['ask', 'ask', 'ask']),
  );

  it('defect 29: decides by the class of a tool alone', () => {
    expect(verdicts('workspace_list', {})).toEqual(['run', 'run', 'run']);
    expect(verdicts('file_write', { path: 'a', content: 'Shall I proceed? Please confirm.' })).toEqual([
      'ask',
      'run',
      'run',
    ]);
    expect(verdicts('workspace_delete', { name: 'shop' })).toEqual(['ask', 'ask', 'run']);
  });

  it('defect 23: takes no consent from an argument of the model', () => {
    for (const name of ['workspace_delete', 'file_delete', 'folder_delete']) {
      const target = name === 'workspace_delete' ? { name: 'shop' } : { path: 'old' };
      expect(verdicts(name, { ...target, confirm: true })).toEqual(verdicts(name, target));
    }
  });

  it('defect 32: asks before a command of the model in a cautious chat, and before tests and tasks in a supervised one', () => {
    for (const name of ['shell_run', 'app_run'])
      expect(verdicts(name, { command: 'ls' })).toEqual(['ask', 'ask', 'run']);
    expect(verdicts('app_test', {})).toEqual(['ask', 'run', 'run']);
    expect(verdicts('task_create', { goal: 'tidy up' })).toEqual(['ask', 'run', 'run']);
  });

  it('runs what is safe without asking, and nothing else in a supervised chat', () => {
    for (const { name, danger } of tools.values())
      if (name !== 'ask_user')
        expect([name, policyOf({ name, danger }, 'supervised', false)]).toEqual([
          name,
          danger === 'SAFE' ? 'run' : 'ask',
        ]);
  });
});
