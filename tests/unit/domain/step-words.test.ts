import { expect, it } from 'vitest';
import { doingInWords, isCorrected, stepInWords } from '../../../src/domain/chat/words/step-words.ts';
import { UNFINISHED } from '../../../src/store/turns/finish.ts';
import { tools } from '../../../src/tools/registry.ts';
import { machineWordsIn } from '../../support/transcript.ts';

it('every tool has words for what it does', () => {
  for (const name of tools.keys()) {
    expect(doingInWords(name), name).not.toBe(name.replaceAll('_', ' '));
    expect(machineWordsIn(stepInWords(`${name} started`))).toEqual([]);
  }
});

it.each([
  [
    'workflow_create: Saved the routine "nightly tidy" (wf_uirrq8xof4) with 1 step.',
    'Saved the routine "nightly tidy" with 1 step.',
  ],
  [
    'workflow_list: 1 routine: - tidy (wf_uirrq8xof4): 1 step: cron_list',
    'Listing the routines: 1 routine: - tidy: 1 step: listing the schedules',
  ],
  ['shell_run: $ npm test (in demo)', 'Running a command: $ npm test (in demo)'],
  ['shell_run started', 'Running a command'],
  [
    "task_create: Created task tsk_06veg0jt3t: 'write hello.txt' → practice in shop. Its report comes to this chat; nothing has to be polled.",
    'The agent is working in shop. I write when it is done.',
  ],
  ['file_read: import my_file from node_modules', 'Reading a file: import my_file from node_modules'],
  ['weather_at: sunny', 'Weather at: sunny'],
  ['Task: write hello.txt', 'Task: write hello.txt'],
  ['constructor: made', 'Constructor: made'],
  ['shell_run: The person said no to "Run this command in demo?" Nothing was run.', 'You said no. Nothing was run.'],
])('the step %j is shown as %j', (summary, shown) => {
  expect(stepInWords(summary)).toBe(shown);
});

it('a call that the model corrects by itself is told from a failure', () => {
  expect(isCorrected('The arguments of shell_run are not right:\n✖ Unrecognized key: "description"')).toBe(true);
  expect(isCorrected('The command failed.')).toBe(false);
});

it('a call that never ran because the turn was stopped is no failure', () => {
  expect(isCorrected(UNFINISHED.pending)).toBe(true);
  expect(isCorrected(UNFINISHED.running)).toBe(false);
});
