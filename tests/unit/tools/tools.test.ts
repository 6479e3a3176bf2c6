import { expect, test } from 'vitest';
import { english } from '../../../src/domain/texts/say.ts';
import { declarations, prepareCall, tools } from '../../../src/tools/registry.ts';
import { checkRoutineSteps, problemOfRun } from '../../../src/tools/routines/routine-steps.ts';
import { dangerOf, effectOf, idFromCall } from '../../../src/tools/tool.ts';

test('every tool is declared to the model with a strict object schema', () => {
  expect([...declarations.keys()]).toEqual([...tools.keys()]);
  for (const tool of declarations.values())
    expect(tool.parameters).toMatchObject({ type: 'object', additionalProperties: false });
});

test('what the model is told of all tools stays below 28 KB, because a request may carry all of it', () => {
  expect(Buffer.byteLength(JSON.stringify([...declarations.values()]))).toBeLessThan(28_000);
});

test('a description has at most two sentences', () => {
  for (const { name, description } of declarations.values())
    expect([name, description.match(/[.!?](?= |$)/g)?.length ?? 0]).toEqual([name, expect.toBeOneOf([1, 2])]);
});

test('the model is not told what every model takes for granted, and what the system prompt says once', () => {
  const told = JSON.stringify([...declarations.values()]);
  for (const noise of ['minLength', 'minItems', 'propertyNames', 'toldInPrompt', 'untold'])
    expect(told).not.toContain(`"${noise}":`);
  const parameters = (wanted: string) => declarations.get(wanted)!.parameters;
  expect(parameters('git_status')).toEqual({
    type: 'object',
    properties: { workspace: { type: 'string' } },
    additionalProperties: false,
  });
  expect(parameters('github_issue_list')).toMatchObject({ properties: { assignee: { type: 'string' } } });
  expect(parameters('github_issue_list')).not.toHaveProperty('properties.assignee.pattern');
});

test('defect 11: whatever runs a command runs in a container, and not where the keys are', () => {
  const running = [...tools.values()].filter(({ needsShell, item }) => needsShell || item === 'command_execution');
  expect(running.map(({ name }) => name)).toEqual(expect.arrayContaining(['shell_run', 'app_run', 'app_test']));
  for (const { name, runsIn } of running) expect([name, runsIn]).toEqual([name, 'kennel']);
});

test('limits that the model is not told are checked all the same', () => {
  const refused: Array<[string, object, RegExp]> = [
    ['ask_user', { question: ' ' }, /question/],
    ['workspace_create', { name: 'x'.repeat(65) }, /name/],
    ['github_issue_list', { assignee: 'a b' }, /assignee/],
    ['git_commit', { message: 'x', paths: Array.from({ length: 501 }, () => 'a') }, /paths/],
    ['file_read', { path: 'a', from: 0 }, /from/],
  ];
  for (const [name, args, error] of refused)
    expect(prepareCall(name, JSON.stringify(args))).toEqual({ ok: false, error: expect.stringMatching(error) });
});

test('arguments with defaults may be left out', () => {
  expect(prepareCall('workflow_list', '')).toMatchObject({ ok: true, args: { includeRuns: false, runLimit: 10 } });
  expect(prepareCall('cron_create', '{"workflow":"w","schedule":"0 9 * * *"}')).toMatchObject({
    ok: true,
    args: { enabled: true },
  });
});

test.each([
  ['web_fetsh', '{}', /Did you mean web_fetch/],
  ['web_fetch', '{"url":', /not valid JSON/],
  ['web_fetch', '[]', /not right/],
  ['web_fetch', '{"url":"ftp://example.com"}', /http or https/],
  ['web_fetch', '{"url":"http://example.com","confirm":true}', /confirm/],
  ['ask_user', '{"question":"x","options":["a","A "]}', /differ/],
  ['report_progress', '{"message":"x","percent":101}', /100/],
  ['__proto__', '{}', /no tool/],
])('a wrong call of %s with %s comes back as an error that can be corrected', (name, args, error) => {
  expect(prepareCall(name, args)).toEqual({ ok: false, error: expect.stringMatching(error) });
});

test.each([
  ['cron_enable', { cron: 'nightly' }, 'cron_update', { cron: 'nightly', enabled: true }],
  ['cron_enable', { cron: 'nightly', enabled: false }, 'cron_update', { cron: 'nightly', enabled: false }],
  ['egress_list', {}, 'workspace_status', {}],
  ['task_resume', { taskId: 'tsk_1' }, 'task_pause', { taskId: 'tsk_1', resume: true }],
  ['functions.task-resume', {}, 'task_pause', { resume: true }],
  ['read_attachment', { id: 'att_1', offset: 9 }, 'read_output', { callId: 'att_1', offset: 9, limit: 7_500 }],
])('%s %j has become a part of another tool, and still does the same', (name, args, now, theirs) => {
  const call = prepareCall(name, JSON.stringify(args));
  expect(call).toMatchObject({ ok: true, tool: { name: now } });
  expect(call.ok && call.args).toEqual(theirs);
});

test('a routine that is made with its schedule counts as both, and a frequent one as dangerous', () => {
  const tool = tools.get('workflow_create')!;
  const made = (more: object) => ({ name: 'tidy', steps: ['workflow_list'], ...more });
  const counts = (more: object) => [effectOf(tool, made(more)).sends, dangerOf(tool, made(more))];
  expect(counts({})).toEqual([['routine'], 'MODERATE']);
  expect(counts({ schedule: '0 9 * * *' })).toEqual([['routine', 'schedule'], 'MODERATE']);
  expect(counts({ schedule: '* * * * *' })).toEqual([['routine', 'schedule'], 'DANGEROUS']);
});

test('a schedule is switched in words of its own', () => {
  const asked = (args: object) => tools.get('cron_update')!.asks!({ cron: 'nightly', ...args } as never, '', english);
  expect(asked({ enabled: false })).toBe('Switch the schedule "nightly" off?');
  expect(asked({ enabled: true, schedule: '0 9 * * *' })).toBe(
    'Change the schedule "nightly" to every day at 9:00, and switch it on?',
  );
});

const check = (steps: Parameters<typeof checkRoutineSteps>[0]) =>
  checkRoutineSteps(
    steps,
    (name) => tools.get(name),
    () => tools.keys(),
    'cautious',
  );

const step = (tool: string, args: Record<string, unknown>, more: object = {}) => ({
  tool,
  args,
  when: 'ok' as const,
  onFailure: 'stop' as const,
  ...more,
});

test('steps may be written short and get default names', () => {
  expect(check(['workflow_list|What is there', 'cron_list'])).toEqual({
    ok: true,
    steps: [
      { name: 'What is there', tool: 'workflow_list', args: { includeRuns: false, runLimit: 10 } },
      { name: 'step-2', tool: 'cron_list', args: {} },
    ],
  });
});

test('arguments of steps are checked when the workflow is made', () => {
  expect(check([step('web_fetch', { url: 'nowhere' }), 'nothing'])).toEqual({
    ok: false,
    error: expect.stringMatching(/Step 1[\s\S]*http or https[\s\S]*Step 2.*no such tool/),
  });
});

test('steps that name no workspace work in that of their workflow', () => {
  const lookup = (name: string) => tools.get(name);
  const checked = checkRoutineSteps(
    [step('app_test', {}), step('git_status', { workspace: 'other' }), 'cron_list'],
    lookup,
    () => tools.keys(),
    'cautious',
    'shop',
  );
  expect(checked).toMatchObject({
    ok: true,
    steps: [{ args: { workspace: 'shop' } }, { args: { workspace: 'other' } }, { args: {} }],
  });
});

test('an argument with an input is checked when the run has it, and everything else at once', () => {
  const checked = check([
    step('web_fetch', { url: '{{input.page}}' }),
    step('file_read', { path: '{{input.file=README.md}}', lines: 5 }),
  ]);
  expect(checked).toEqual({
    ok: true,
    steps: [
      { name: 'step-1', tool: 'web_fetch', args: { url: '{{input.page}}' } },
      { name: 'step-2', tool: 'file_read', args: { path: '{{input.file=README.md}}', lines: 5 } },
    ],
  });
  expect(check([step('file_read', { path: '{{input.file}}', lines: 0 })])).toEqual({
    ok: false,
    error: expect.stringMatching(/lines/),
  });
  const lookup = (name: string) => tools.get(name);
  const problem = (inputs: Record<string, string>) =>
    problemOfRun({ name: 'look', steps: checked.ok ? checked.steps : [] }, lookup, inputs);
  expect(problem({})).toBe('The routine "look" needs inputs: page.');
  expect(problem({ page: 'ftp://x' })).toMatch(/Step 1 \(web_fetch\).*http or https/s);
  expect(problem({ page: 'https://example.com', fil: 'x' })).toMatch(/has no input "fil".*file/);
  expect(problem({ page: 'https://example.com' })).toBeNull();
});

test('a default is written as text, and counts as a number where the tool takes one', () => {
  const lookup = (name: string) => tools.get(name);
  const problem = (args: object, inputs = {}) =>
    problemOfRun(
      { name: 'look', steps: [{ name: 's', tool: 'file_read', args: { path: 'a', ...args } }] },
      lookup,
      inputs,
    );
  expect(problem({ lines: '{{input.n=5}}' })).toBeNull();
  expect(problem({ lines: '{{input.n=5}}' }, { n: '7' })).toBeNull();
  expect(problem({ lines: '{{input.n=many}}' })).toMatch(/lines/);
  expect(problem({ path: '{{input.n=5}}' })).toBeNull();
});

test.each([
  'workflow_create',
  'workflow_update',
  'cron_update',
  'workflow_run',
  'workflow_delete',
  'cron_create',
  'cron_run',
  'cron_delete',
  'ask_user',
  'report_progress',
])('%s cannot be a step', (tool) => {
  expect(check([tool])).toEqual({ ok: false, error: expect.stringContaining('cannot be a step') });
});

test('what needs consent cannot be a step, because nobody can be asked', () => {
  const dangerous = { ...tools.get('cron_list')!, danger: 'DANGEROUS' as const };
  const run = (autonomy: 'cautious' | 'autonomous') =>
    checkRoutineSteps(
      ['cron_list'],
      () => dangerous,
      () => [],
      autonomy,
    ).ok;
  expect([run('cautious'), run('autonomous')]).toEqual([false, true]);
});

test('an id made from a call is the same every time', () => {
  expect(idFromCall('wf_', 'call_1')).toBe(idFromCall('wf_', 'call_1'));
  expect(idFromCall('wf_', 'call_1')).toMatch(/^wf_[a-z0-9]{10}$/);
});
