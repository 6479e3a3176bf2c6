import { expect } from 'vitest';
import type { Run } from './run.ts';
import type { Entry } from './skeleton.ts';

/**
 * How a recorded turn is repeated here: the same steps of the model, with our tools in the place of the reference's
 * own.
 */
export interface Scenario {
  /** the recorded case */
  case: string;
  /**
   * where the recording has no case of its own: what is different about this one, and how the recorded entries follow
   * from the case
   */
  variant?: { title: string; from: (recorded: Entry[]) => Entry[] };
  thread?: Record<string, unknown>;
  drive: (run: Run) => Promise<void>;
}

/** a tool that may run, and one that this instance asks about */
const LOOK = ['workflow_list', {}];
let made = 0;
const make = () => ['workflow_create', { name: `made-${++made}`, steps: ['workflow_list'] }];
const page = (run: Run, name: string) => ['web_fetch', { url: run.pages.url(name) }];
const ASK = ['ask_user', { question: 'Which colour?', options: ['Red', 'Blue'] }];
const RED = [{ id: 'color', label: 'Red', value: 'Red' }];
const LONG = 'word '.repeat(60);

/** one turn whose model steps are given, left to itself */
const turn =
  (...steps: unknown[]) =>
  async (run: Run): Promise<void> => {
    await run.start(steps);
    await run.done();
  };

const relabel = (from: string, to: string) => (recorded: Entry[]) =>
  recorded.map((entry) => ({ ...entry, label: entry.label.replace(from, to) }));

const answers: Scenario[] = [
  { case: 'sse/plain', drive: turn({ say: 'Hello, this is a plain answer.' }) },
  { case: 'sse/plain_nousage', drive: turn({ say: 'no usage here' }) },
  { case: 'sse/no_api_key', drive: turn({ say: 'no key is needed on this machine' }) },
  { case: 'sse/plain_empty', drive: turn({ say: ' ' }) },
  {
    case: 'sse/two_turns',
    drive: async (run) => {
      await run.start([{ say: 'first' }]);
      await run.done(1);
      await run.start([{ say: 'second' }]);
      await run.done(2);
    },
  },
  { case: 'sse/system_prompt', thread: { system_prompt: 'You are X' }, drive: turn({ say: 'ok' }) },
  { case: 'sse/reasoning_only', drive: turn({ think: 'only thoughts' }) },
  {
    case: 'sse/reasoning_then_tool',
    drive: turn({ think: 'need file', say: 'Reading.', call: [LOOK] }, { think: 'ok', say: 'Got it' }),
  },
  {
    case: 'sse/reasoning_then_tool',
    variant: { title: 'slowly', from: (recorded) => recorded },
    drive: turn(
      { think: 'I need to see a file', say: 'Reading it now.', call: [LOOK], pace: 60 },
      { think: 'that is all I need', say: 'Here it is.', pace: 60 },
    ),
  },
];

const toolCalls: Scenario[] = [
  { case: 'sse/tool_auto_read', drive: turn({ call: [LOOK] }, { say: 'It says: $LAST' }) },
  { case: 'sse/tool_read_escape', drive: turn({ call: [['read_output', { callId: 'nope' }]] }, { say: 'err: $LAST' }) },
  { case: 'sse/tool_bad_json_args', drive: turn({ call: [['read_output', '{"callId": ']] }, { say: 'err: $LAST' }) },
  {
    case: 'sse/tool_two_parallel',
    drive: async (run) => {
      await run.start([{ call: [page(run, 'first'), page(run, 'second')] }, { say: 'ok' }]);
      await Promise.all([run.pages.asked('first'), run.pages.asked('second')]);
      run.pages.release('first');
      await run.stream.reached('item.completed tool');
      run.pages.release('second');
      await run.done();
    },
  },
];

/** starts a turn of these steps and decides its approvals in order */
const approved =
  (steps: () => unknown[], decisions: Array<'allow' | 'deny'>, remember?: boolean, fields?: Record<string, unknown>) =>
  async (run: Run): Promise<void> => {
    await run.start(steps(), fields);
    for (const [at, decision] of decisions.entries()) await run.decide(decision, { remember, count: at + 1 });
    await run.done();
  };

const approvals: Scenario[] = [
  {
    case: 'sse/approval_allow',
    drive: approved(() => [{ say: 'Will write.', call: [make()] }, { say: 'Wrote: $LAST' }], ['allow']),
  },
  { case: 'sse/approval_deny', drive: approved(() => [{ call: [make()] }, { say: 'Result: $LAST' }], ['deny']) },
  {
    case: 'sse/approval_deny_remember',
    drive: approved(() => [{ call: [make()] }, { call: [make()] }, { say: '$LAST' }], ['deny', 'deny'], true),
  },
  {
    case: 'sse/approval_remember',
    drive: approved(() => [{ call: [make()] }, { call: [make()] }, { say: 'done' }], ['allow'], true),
  },
  {
    case: 'sse/approval_remember_next_turn',
    drive: async (run) => {
      await approved(() => [{ call: [make()] }, { say: 'one' }], ['allow'], true)(run);
      await run.start([{ call: [make()] }, { say: 'two' }]);
      await run.done(2);
    },
  },
  {
    case: 'sse/approval_mixed_auto_and_required',
    drive: async (run) => {
      await run.start([{ call: [page(run, 'mixed'), make()] }, { say: 'done' }]);
      await run.stream.reached('approval.required');
      run.pages.release('mixed');
      await run.stream.reached('item.completed tool');
      await run.decide('allow');
      await run.done();
    },
  },
  { case: 'sse/approval_id_collision_2', drive: approved(() => [{ call: [make()] }, { say: '$LAST' }], ['allow']) },
  {
    case: 'sse/auto_approve_thread',
    thread: { auto_approve: true },
    drive: approved(() => [{ call: [make()] }, { say: 'done' }], []),
  },
  {
    case: 'sse/auto_approve_thread_turn_false',
    thread: { auto_approve: true },
    drive: approved(() => [{ call: [make()] }, { say: 'done' }], ['allow'], undefined, { auto_approve: false }),
  },
];

/** What the reference had tools of its own for: a call is a call, whatever it does. */
const otherTools: Scenario[] = [
  ...['apply_patch', 'shell_auto', 'shell_progress'].map((name) => ({
    case: `sse/${name}`,
    thread: { auto_approve: true, allow_shell: true },
    drive: approved(() => [{ call: [make()] }, { say: 'done' }], []),
  })),
  {
    case: 'sse/shell_dangerous_auto',
    thread: { allow_shell: true },
    drive: approved(() => [{ call: [make()] }, { say: 'done: $LAST' }], ['deny']),
  },
  {
    case: 'sse/edit_file',
    thread: { auto_approve: true },
    drive: turn({ call: [['read_output', { callId: 'nope' }]] }, { say: 'done: $LAST' }),
  },
  { case: 'sse/update_plan', drive: turn({ call: [LOOK] }, { say: 'ok $LAST' }) },
];

const questions: Scenario[] = [
  {
    case: 'sse/user_input_answered',
    drive: async (run) => {
      await run.start([{ say: 'Asking.', call: [ASK] }, { say: 'You said $LAST' }]);
      const { call } = await run.stream.reached('user_input.required');
      expect((await run.app.detail(run.thread)).pending_user_inputs.map(({ id }) => id)).toEqual([call]);
      expect(await run.answer(RED)).toEqual({ status: 200, body: { ok: true, input_id: call, delivered: true } });
      await run.done();
    },
  },
  {
    case: 'sse/user_input_wrong_then_empty',
    drive: async (run) => {
      await run.start([{ call: [ASK] }, { say: 'You said $LAST' }]);
      expect((await run.answer(RED, 'nope')).status).toBe(404);
      expect((await run.answer([])).status).toBe(200);
      await run.done();
    },
  },
  { case: 'sse/user_input_invalid', drive: turn({ call: [['ask_user', { question: '' }]] }, { say: '$LAST' }) },
  {
    case: 'sse/user_input_interrupt',
    drive: async (run) => {
      await run.start([{ call: [ASK] }, { say: 'never' }]);
      await run.stream.reached('user_input.required');
      await run.interrupt();
      await run.done();
    },
  },
];

const interruptWhen = (label: string, ...steps: unknown[]): Scenario['drive'] =>
  interruptAfter((run) => run.stream.reached(label), ...steps);
const interruptAfter =
  (moment: (run: Run) => Promise<unknown>, ...steps: unknown[]): Scenario['drive'] =>
  async (run) => {
    await run.start(steps);
    await moment(run);
    await run.interrupt();
    await run.done();
  };

const interrupts: Scenario[] = [
  { case: 'sse/interrupt_before_first_byte', drive: interruptAfter((run) => run.modelAsked(), { hang: true }) },
  {
    case: 'sse/interrupt_mid_reasoning',
    drive: interruptWhen('item.delta agent_reasoning', { think: LONG, pace: 60, say: 'never' }),
  },
  {
    case: 'sse/interrupt_mid_reasoning',
    variant: { title: 'in the answer instead', from: relabel('agent_reasoning', 'agent_message') },
    drive: interruptWhen('item.delta agent_message', { say: LONG, pace: 60 }),
  },
  {
    case: 'sse/interrupt_pending_approval_then_allow',
    drive: async (run) => interruptWhen('approval.required', { call: [make()] }, { say: 'never' })(run),
  },
  {
    case: 'sse/interrupt_pending_approval_wait_300s',
    drive: async (run) => interruptWhen('approval.required', { call: [make()] }, { say: 'never' })(run),
  },
  {
    case: 'sse/user_input_interrupt',
    variant: {
      title: 'while a tool runs',
      from: (recorded) => recorded.filter(({ label }) => !label.startsWith('user_input')),
    },
    drive: async (run) =>
      interruptAfter(() => run.pages.asked('stopped'), { call: [page(run, 'stopped')] }, { say: 'never' })(run),
  },
];

const failures: Scenario[] = [
  { case: 'sse/fail_401', drive: turn({ fail: 401 }) },
  { case: 'sse/fail_404', drive: turn({ fail: 404 }) },
  { case: 'sse/fail_429_once', drive: turn({ fail: 429, times: 1, say: 'recovered ok' }) },
  { case: 'sse/fail_500_once', drive: turn({ fail: 500, times: 1, say: 'recovered ok' }) },
  { case: 'sse/fail_500_always', drive: turn({ fail: 500, times: 4, say: 'recovered after the reference gave up' }) },
  { case: 'sse/fail_second_step_500', drive: turn({ call: [LOOK] }, { fail: 401 }) },
  {
    case: 'sse/after_fail_next_turn',
    drive: async (run) => {
      await run.start([{ fail: 401 }]);
      await run.done(1);
      await run.start([{ say: 'fine now' }]);
      await run.done(2);
    },
  },
  { case: 'sse/fail_cut_after_tool_call', drive: turn({ cut: true, times: 1, call: [LOOK] }, { say: 'x' }) },
  { case: 'sse/fail_cut_mid_text', drive: turn({ cut: true, times: 1, say: 'one two three four' }) },
  { case: 'sse/fail_cut_mid_text_paced', drive: turn({ cut: true, times: 1, say: 'one two three four', pace: 90 }) },
  {
    case: 'sse/fail_cut_tool_paced',
    drive: turn({ cut: true, times: 1, say: 'a', call: [LOOK], pace: 90 }, { say: 'x' }),
  },
];

const steering: Scenario[] = [
  {
    case: 'sse/steer_during_tool',
    drive: async (run) => {
      await run.start([{ call: [page(run, 'steered')] }, { say: 'never' }]);
      await run.pages.asked('steered');
      await run.steer('SCRIPT:[{"say":"after steer"}]');
      run.pages.release('steered');
      await run.done();
    },
  },
];

/** while an answer is written */
const duringAnswer =
  (act: (run: Run) => Promise<void>) =>
  async (run: Run): Promise<void> => {
    await run.start([{ say: LONG, pace: 60 }]);
    await run.stream.reached('item.delta agent_message');
    await act(run);
    await run.done();
  };

const threads: Scenario[] = [
  {
    case: 'sse/compact_empty',
    drive: async (run) => {
      await run.compact();
      await run.done();
    },
  },
  {
    case: 'sse/fork_while_active',
    drive: duringAnswer(async (run) => {
      expect(await run.app.request('POST', `/v1/threads/${run.thread}/fork`)).toMatchObject({
        status: 201,
        body: { archived: false },
      });
    }),
  },
  {
    case: 'sse/patch_while_active',
    drive: duringAnswer(async (run) => {
      const changes = { archived: true, auto_approve: true, model: 'deepseek-v4-flash', title: 'x' };
      expect(await run.app.request('PATCH', `/v1/threads/${run.thread}`, changes)).toMatchObject({
        status: 200,
        body: changes,
      });
      await run.stream.reached('thread.updated');
    }),
  },
];

export const scenarios: Scenario[] = [
  ...threads,
  ...answers,
  ...toolCalls,
  ...approvals,
  ...otherTools,
  ...questions,
  ...interrupts,
  ...failures,
  ...steering,
];

/** These are silent for longer than a keepalive takes, so they run beside the others. */
export const slowScenarios: Scenario[] = [
  { case: 'sse/model_hang_30s_keepalive', drive: turn({ say: 'late', pace: 16_000 }) },
  { case: 'sse/approval_timeout', drive: async (run) => turn({ call: [make()] }, { say: 'Result: $LAST' })(run) },
];

const killWorker = async (run: Run): Promise<void> => {
  run.app.kill('worker');
  await run.app.whenReady();
};

/** A restart shows in nothing but a delay: the recorded turn that was not disturbed is what they are compared with. */
export const restartScenarios: Scenario[] = [
  {
    case: 'sse/plain',
    variant: { title: 'with the worker killed before the first word', from: (recorded) => recorded },
    drive: async (run) => {
      await run.start([{ hang: true, times: 1, say: 'after the restart' }]);
      await run.modelAsked();
      await killWorker(run);
      await run.done();
    },
  },
  {
    case: 'sse/tool_auto_read',
    variant: { title: 'with the worker killed while the tool ran', from: (recorded) => recorded },
    drive: async (run) => {
      await run.start([{ call: [page(run, 'killed')] }, { say: 'It says: $LAST' }]);
      await run.pages.asked('killed');
      await killWorker(run);
      run.pages.release('killed');
      await run.done();
    },
  },
];
