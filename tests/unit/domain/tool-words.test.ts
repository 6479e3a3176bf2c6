import { expect, it, test } from 'vitest';
import { toldToPerson } from '../../../src/domain/chat/words/step-words.ts';
import {
  parseTaskStart,
  parseUndo,
  taskStartWords,
  toolsInWords,
  undoWords,
} from '../../../src/domain/chat/words/tool-words.ts';

test.each([
  [{ goal: 'fix the tests' }, '/task: fix the tests'],
  [{ goal: 'fix: all of\nthem in demo: now', agent: 'claude' }, '/task claude: fix: all of\nthem in demo: now'],
  [{ goal: 'x', workspace: 'my.app-2' }, '/task in my.app-2: x'],
  [{ goal: 'in demo: x', agent: 'codex', workspace: 'demo' }, '/task codex in demo: in demo: x'],
])('%j is said in words that mean it', (start, words) => {
  expect(taskStartWords(start)).toBe(words);
  expect(parseTaskStart(words)).toEqual(start);
  expect(toolsInWords(words)).toEqual([{ name: 'task_create', arguments: start }]);
});

test.each(['/task', '/task:', '/task: ', 'task: do it', '/tasks: x', 'please /task: x', '/task a b: x'])(
  '%s is no order for a task',
  (words) => {
    expect(parseTaskStart(words)).toBeNull();
  },
);

it('a new task is told without its id', () => {
  const made =
    "Created task tsk_imqwp44k6x: 'write hello.txt → x in y. z' → practice in demo. Its report comes to this chat.";
  expect(toldToPerson(made)).toBe('The agent is working in demo. I write when it is done.');
  expect(toldToPerson(`${made.split(' Its')[0]} It begins with a plan, which comes here.`)).toMatch(
    /makes a plan first/,
  );
  expect(toldToPerson('The schedule "x" is gone.')).toBe('The schedule "x" is gone.');
  expect(toldToPerson('1 routine:\n- tidy (wf_nheox5myrb): 1 step: workflow_list')).toBe(
    '1 routine:\n- tidy: 1 step: workflow list',
  );
});

it('one task or edit is taken back by its id or number, in the workspace that is named', () => {
  expect(parseUndo(undoWords({ id: 'tsk_ab12', workspace: 'Demo' }))).toEqual({ task: 'tsk_ab12', workspace: 'demo' });
  expect(parseUndo(undoWords({ id: `edit-${'a1'.repeat(16)}`, workspace: 'my.app' }))).toEqual({
    task: `edit-${'a1'.repeat(16)}`,
    workspace: 'my.app',
  });
  expect(parseUndo('undo task tsk_ab12')).toEqual({ task: 'tsk_ab12' });
  expect(parseUndo('Undo 3.')).toEqual({ task: '3' });
  expect(parseUndo('undo 3 in demo')).toEqual({ task: '3', workspace: 'demo' });
  expect(parseUndo('undo 3 of them')).toBeNull();
  expect(parseUndo('undo the last edit in demo')).toBeNull();
});
