import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { z } from 'zod';
import { taskWorkflowId } from '../contracts/ids.ts';
import { HARNESSES } from '../contracts/kennel.ts';
import { cancelUpdate, decidedSignal, pauseUpdate, resumeUpdate } from '../contracts/signals.ts';
import type { TaskState } from '../contracts/task.ts';
import { chooseOption } from '../domain/chat/commands.ts';
import { breachText, taskBreach, taskBudget } from '../domain/model/budgets.ts';
import { moneyText } from '../domain/model/price-book.ts';
import { chooseHarness } from '../domain/tasks/harnesses.ts';
import { duration, saysMore } from '../domain/tasks/report.ts';
import { findName } from '../domain/tasks/workspace-names.ts';
import { suggestion } from '../domain/text/nearest.ts';
import { cut } from '../domain/text/storable.ts';
import { onThread } from '../store/chats/events.ts';
import { refusalsOf } from '../store/kennel/egress.ts';
import { type KennelHost, listHosts } from '../store/kennel/hosts.ts';
import { reachOf } from '../store/kennel/shares.ts';
import { latestQuestionOfTask, openQuestionOfTask } from '../store/kennel/task-questions.ts';
import { findTask, insertTask, isOver, markOrdered, type Task, tasksOfChat } from '../store/kennel/tasks.ts';
import { taskSpendingToday, usageOf } from '../store/kennel/usage.ts';
import { activeWorkspace, listWorkspaces } from '../store/kennel/workspaces.ts';
import { answerQuestion } from '../store/questions/decide.ts';
import { openQuestion } from '../store/questions/questions.ts';
import { namedTask, shown } from './approval-words.ts';
import { idFromCall } from './call-ids.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from './tool.ts';
import { type Absence, awaitEngine, hostsMayBeStarting } from './workspace/await-engine.ts';

/** The `task_*` tools of the contract: coding jobs that a coding agent does in a container, for minutes or hours. */

const common = { effect: 'idempotent', place: 'worker', timeoutMs: 60_000 } as const;
const DEFAULT_TIMEOUT_MS = 300_000;
const MAX_TIMEOUT_MS = 24 * 3_600_000;

const taskId = z.string().trim().min(1).max(60).describe('Task ID, tsk_…');

export const taskTools: Tool[] = [
  defineTool({
    ...common,
    name: 'task_create',
    reads: [],
    // the agent does what it says, with the hosts that FETCH_KENNEL_EGRESS opens
    sends: ['task'],
    sent: (args) => ({ texts: [args.goal] }),
    description:
      'Create and start a coding task for complex work (refactoring, features): a coding agent does it in a container, for as long as it takes, and its report comes to this chat by itself. Never for deleting a file, for a single small edit, or for running a command: there are tools for that. If several agents are enabled and the person has not said which, call ask_user first, or leave agent at auto when they do not care. Tasks on one workspace wait for each other.',
    danger: 'MODERATE',
    schema: z.strictObject({
      goal: z.string().trim().min(1).max(10_000).describe('Clear description of what is to be accomplished, with everything the agent must know'),
      agent: z
        .enum([...HARNESSES, 'auto'])
        .default('auto')
        .describe('Coding agent; practice follows simple instructions without a model'),
      workspace: z.string().trim().min(1).max(100).optional().describe('Workspace name; the active workspace when left out'),
      worktree: z
        .boolean()
        .default(false)
        .describe('Work beside other tasks of the workspace, in a git worktree on a branch of its own, in place of waiting for them'),
      timeout: z.int().min(1_000).max(MAX_TIMEOUT_MS).default(DEFAULT_TIMEOUT_MS).describe('Time at work in milliseconds; waiting for a person does not count'),
    }),
    summarise: (args) => args.agent,
    workspaceOf: (args) => args.workspace,
    asks: ({ agent }, at) => `Let ${agent === 'auto' ? 'a coding agent' : shown(agent)} work${at}?`,
    run: async (args, context) => {
      const place = await awaitEngine(context, () => placeOf(context, args.workspace));
      if ('problem' in place) return { ok: false, output: place.problem };
      const chosen = chooseHarness({
        wanted: args.agent,
        allowed: context.config.FETCH_KENNEL_AGENTS.split(',').map((name) => name.trim()),
        ready: place.harnesses,
      });
      if (!chosen.ok) return { ok: false, output: chosen.why };
      const today = await taskSpendingToday(context.db, context.chatId);
      const breach = taskBreach(taskBudget(context.config), { tokens: 0, microUsd: 0, today });
      if (breach) return { ok: false, output: breachText(breach) };
      const id = idFromCall('tsk_', context.callId);
      const task = await insertTask(context.db, {
        id,
        chat_id: context.chatId,
        call_id: context.callId,
        workflow_id: taskWorkflowId(id),
        goal: args.goal,
        agent: args.agent,
        harness: chosen.harness,
        host: place.host,
        workspace: place.workspace,
        worktree: args.worktree,
        timeout_ms: args.timeout,
      });
      if (!task) return { ok: false, output: 'This chat has no thread yet.' };
      return {
        ok: true,
        output: `Created task ${id}: '${short(args.goal)}' → ${chosen.harness} in ${place.workspace}. Its report comes to this chat; nothing has to be polled.`,
        metadata: { task: await taskView(context, task) },
      };
    },
  }),
  defineTool({
    ...common,
    name: 'task_status',
    reads: ['report'],
    sends: [],
    description: 'Check what a coding task is doing, waits for and has used, or how it ended. Not needed to learn of its end: that is reported by itself.',
    danger: 'SAFE',
    readsOnly: true,
    schema: z.strictObject({ taskId: taskId.optional().describe('The current task when left out') }),
    run: async (args, context) => {
      const found = await findIn(context, args.taskId);
      if ('problem' in found) return { ok: false, output: found.problem };
      return { ok: true, output: await statusLine(context, found.task), metadata: { task: await taskView(context, found.task) } };
    },
  }),
  defineTool({
    ...common,
    name: 'task_cancel',
    reads: [],
    sends: [],
    description: 'Cancel a coding task and end its agent. What it did so far is kept on a branch.',
    danger: 'MODERATE',
    schema: z.strictObject({ taskId }),
    asks: (args) => `Cancel ${namedTask(args.taskId)}?`,
    run: async (args, context) => {
      const found = await findIn(context, args.taskId);
      if ('problem' in found) return { ok: false, output: found.problem };
      const { task } = found;
      if (isOver(task.state)) return { ok: false, output: `Task ${task.id} is over already (${task.state}).` };
      const ran = duration(secondsOf(task));
      const ended = await order(context, task, cancelUpdate);
      if (!ended.ok) return ended;
      const how = task.started_at ? `was running ${ran}); terminated active process` : 'had not begun)';
      return { ok: true, output: ended.output || `Cancelled task ${task.id} (${how}`, metadata: { taskId: task.id, wasRunning: task.started_at !== null } };
    },
  }),
  defineTool({
    ...common,
    name: 'task_pause',
    reads: [],
    sends: [],
    description: 'Hold a running coding task where it is; task_resume lets it go on.',
    danger: 'MODERATE',
    schema: z.strictObject({ taskId: taskId.optional().describe('The current task when left out') }),
    asks: (args) => `Pause ${namedTask(args.taskId)}?`,
    run: async (args, context) => await hold(context, args.taskId, pauseUpdate, 'Paused'),
  }),
  defineTool({
    ...common,
    name: 'task_resume',
    reads: [],
    sends: [],
    description: 'Let a paused coding task go on.',
    danger: 'MODERATE',
    schema: z.strictObject({ taskId: taskId.optional().describe('The current task when left out') }),
    asks: (args) => `Let ${namedTask(args.taskId)} go on?`,
    run: async (args, context) => await hold(context, args.taskId, resumeUpdate, 'Resumed'),
  }),
  defineTool({
    ...common,
    name: 'task_respond',
    reads: [],
    sends: ['task'],
    sent: (args) => ({ texts: [args.response] }),
    description:
      'Send the answer of the person to a coding task that has asked a question, when they gave it in other words than as a plain reply. Consent to what a task wants to do cannot be given with this.',
    danger: 'SAFE',
    schema: z.strictObject({
      response: z.string().trim().min(1).max(5_000).describe('The answer'),
      taskId: taskId.optional().describe('The waiting task when left out'),
    }),
    run: async (args, context) => await respond(context, args),
  }),
];

async function respond(context: ToolContext, args: { response: string; taskId?: string }): Promise<ToolOutcome> {
  const reach = await reachOf(context.db, context);
  const live = await tasksOfChat(context.db, context.chatId, { live: true, limit: 50 });
  const within = ({ workspace }: Task) => reach === null || reach.has(workspace);
  const found = args.taskId ? await findIn(context, args.taskId) : { task: live.find((task) => task.state === 'waiting' && within(task)) };
  if ('problem' in found) return { ok: false, output: found.problem };
  const { task } = found;
  if (!task) return { ok: false, output: 'No task of this chat waits for an answer.' };
  const asked = await latestQuestionOfTask(context.db, task.id);
  if (!asked) return { ok: false, output: `Task ${task.id} has not asked anything.` };
  if (asked.kind === 'approval')
    return { ok: false, output: `Task ${task.id} wants consent, and only the person can give it: they answer yes or no to the question itself.` };
  const answered = await onThread(context.db, task.thread_id, async (tx) => {
    const question = await openQuestion(tx, task.thread_id, asked.id);
    if (question) await answerQuestion(tx, question, chooseOption(question.options, args.response), { role: 'agent' });
    return question !== undefined;
  });
  // also when it was answered before: a first attempt may have died between the answer and its signal
  await context.temporal.workflow
    .getHandle(task.workflow_id)
    .signal(decidedSignal, { questionId: asked.id, decision: 'answered' })
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  if (!answered && asked.answer !== args.response) return { ok: false, output: `The question of task ${task.id} is settled already.` };
  return { ok: true, output: `Sent response to task ${task.id}, resuming execution`, metadata: { taskId: task.id } };
}

async function hold(context: ToolContext, id: string | undefined, update: Order, word: string): Promise<ToolOutcome> {
  const found = await findIn(context, id);
  if ('problem' in found) return { ok: false, output: found.problem };
  const { task } = found;
  if (isOver(task.state)) return { ok: false, output: `Task ${task.id} is over already (${task.state}).` };
  const done = await order(context, task, update);
  return done.ok ? { ok: true, output: done.output || `${word} task ${task.id}.`, metadata: { taskId: task.id } } : done;
}

type Order = typeof cancelUpdate | typeof pauseUpdate | typeof resumeUpdate;

/** Gives an order to a task and waits until it is carried out. It stands on the row first: a task whose workflow has yet to begin finds it there. */
async function order({ db, temporal, callId, signal }: ToolContext, task: Task, update: Order): Promise<ToolOutcome> {
  await markOrdered(db, task.id, update);
  try {
    await temporal.withAbortSignal(signal, () => temporal.workflow.getHandle(task.workflow_id).executeUpdate(update, { updateId: `${callId}_${update}` }));
    return { ok: true, output: '' };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError)) throw error;
    const now = await findTask(db, task.id);
    if (!now || isOver(now.state)) return { ok: false, output: `Task ${task.id} has just ended. Look with task_status.` };
    return { ok: true, output: `Task ${task.id} is only just being started: the order (${update}) is noted, and carried out when it begins.` };
  }
}

type Place = { host: string; workspace: string; harnesses: Array<{ name: (typeof HARNESSES)[number]; ready: boolean; why: string | null }> };

/** The workspace that is meant, and what its host can do. */
async function placeOf({ db, chatId, turnId }: ToolContext, wanted: string | undefined): Promise<Place | Absence> {
  const [chosen, every, hosts, reach] = await Promise.all([activeWorkspace(db, chatId), listWorkspaces(db), listHosts(db), reachOf(db, { chatId, turnId })]);
  const within = (name: string) => reach === null || reach.has(name);
  const active = chosen && within(chosen.name) ? chosen : null;
  const all = every.filter(({ name }) => within(name));
  const names = [...new Set(all.map((workspace) => workspace.name))];
  const name = wanted === undefined ? (active?.name ?? (names.length === 1 ? names[0]! : null)) : findName(wanted, names);
  if (name === null) {
    // without containers there is nothing to make a workspace in, and a host that is only just starting has not shown its own yet
    const lacking = hosts.some((host) => host.alive && host.ready) ? null : lackOf(hosts);
    if (lacking) return lacking;
    if (wanted !== undefined) return { problem: `There is no workspace "${wanted}".${suggestion(wanted, names)}`, expected: false };
    return {
      expected: false,
      problem:
        names.length === 0
          ? 'There is no workspace yet: make one with workspace_create.'
          : `Which workspace? There are ${names.join(', ')}; select one with workspace_select.`,
    };
  }
  const rows = all.filter((workspace) => workspace.name === name);
  const row =
    rows.find((workspace) => workspace.host === active?.host) ?? rows.find((each) => hosts.some((host) => host.host === each.host && host.alive)) ?? rows[0];
  if (!row) return { problem: `The workspace "${name}" is gone.`, expected: false };
  const host = hosts.find((each) => each.host === row.host);
  if (!host?.alive)
    return {
      problem: `The machine that has workspace "${name}" (${row.host}) is not connected now. Start it, or choose another workspace.`,
      expected: host?.expected || hostsMayBeStarting(),
    };
  if (!host.ready) return lackOf([host]);
  return { host: row.host, workspace: name, harnesses: host.harnesses };
}

/** Why no container can be started on any of these hosts. */
function lackOf(hosts: readonly KennelHost[]): Absence {
  const host = hosts.find((each) => each.alive) ?? hosts[0];
  if (!host?.alive)
    return {
      problem: 'Coding tasks need containers, and no machine that runs them is connected now: see fetch status and fetch doctor.',
      expected: host?.expected || hostsMayBeStarting(),
    };
  return { problem: `Coding tasks need containers, and there are none on ${host.host}: ${host.problem ?? 'no engine answers'}`, expected: host.expected };
}

/** The task with this id in this chat; without one, the newest that is not over, or the newest. */
async function findIn({ db, chatId, turnId }: ToolContext, id: string | undefined): Promise<{ task: Task } | { problem: string }> {
  const reach = await reachOf(db, { chatId, turnId });
  const tasks = (await tasksOfChat(db, chatId, { limit: 200 })).filter(({ workspace }) => reach === null || reach.has(workspace));
  const task = id === undefined ? (tasks.find((each) => !isOver(each.state)) ?? tasks[0]) : tasks.find((each) => each.id === id);
  if (task) return { task };
  if (id === undefined) return { problem: 'There are no tasks in this chat.' };
  return {
    problem: `There is no task ${id} in this chat.${suggestion(
      id,
      tasks.map((each) => each.id),
    )}`,
  };
}

/** The contract's words for the states. */
const statusOf: Record<TaskState, string> = {
  queued: 'pending',
  running: 'running',
  waiting: 'waiting_input',
  paused: 'paused',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

const secondsOf = (task: Task): number => Math.round(((task.ended_at ?? new Date()).getTime() - (task.started_at ?? task.created_at).getTime()) / 1000);

async function statusLine({ db }: ToolContext, task: Task): Promise<string> {
  const spent = await usageOf(db, task.id);
  const lines = [`Task ${task.id} ${task.state} (${duration(secondsOf(task))}) — '${short(task.goal)}'. ${task.last ? `Last: ${task.last}` : ''}`.trim()];
  lines.push(`${task.harness} in ${task.workspace} on ${task.host}; ${spent.inputTokens + spent.outputTokens} tokens, ${moneyText(spent)} so far.`);
  if (task.state === 'waiting') {
    const open = await openQuestionOfTask(db, task.id);
    if (open) lines.push(`It waits for ${open.kind === 'approval' ? 'consent' : 'an answer'}: ${open.prompt}`);
  }
  if (task.reason && saysMore({ state: task.state, reason: task.reason })) lines.push(task.reason);
  const refused = await refusalsOf(db, task.id, 5);
  if (refused.length > 0)
    lines.push(`Refused on the network: ${refused.map((row) => `${row.host}:${row.port} (${row.refused}x)`).join(', ')}. FETCH_KENNEL_EGRESS allows hosts.`);
  if (task.result?.said) lines.push(task.result.said);
  return lines.join('\n');
}

async function taskView({ db }: Pick<ToolContext, 'db'>, task: Task): Promise<Record<string, unknown>> {
  return {
    id: task.id,
    goal: task.goal,
    agent: task.harness,
    workspace: task.workspace,
    host: task.host,
    status: statusOf[task.state],
    step: task.step,
    timeout: Number(task.timeout_ms),
    createdAt: task.created_at.toISOString(),
    startedAt: task.started_at?.toISOString() ?? null,
    completedAt: task.ended_at?.toISOString() ?? null,
    lastProgress: task.last,
    reason: task.reason,
    usage: await usageOf(db, task.id),
    result: task.result,
  };
}

const short = (goal: string): string => {
  const line = goal.replace(/\s+/g, ' ').trim();
  return cut(line, 80);
};
