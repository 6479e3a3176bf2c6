import { createHash } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { z } from 'zod';
import { deleteSchedule } from '../../adapters/schedules.ts';
import type { Autonomy } from '../../contracts/conversation.ts';
import { AGENT_QUEUE, routineWorkflowId } from '../../contracts/ids.ts';
import type { RoutineInput, RoutineStep } from '../../contracts/routine.ts';
import { ROUTINE } from '../../contracts/signals.ts';
import { decideUnattended } from '../../domain/consent/policy.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { chatAutonomy } from '../../store/chats/threads.ts';
import { cronsOf } from '../../store/routines/crons.ts';
import { deleteRoutine, findRoutine, insertRoutine, listRoutines, type Routine } from '../../store/routines/routines.ts';
import { closeRun, listRuns, type RoutineRun, runningRun } from '../../store/routines/runs.ts';
import { taintOfCall, unaskedSources } from '../../store/steps/taint.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';

/** The `workflow_*` tools of the contract. In the code the record is a routine, because a workflow is Temporal's. */

/** Tools that make no sense without a person or a turn, or that would let a run change or start routines by itself. */
export const BLOCKED_STEPS: ReadonlySet<string> = new Set([
  'workflow_create',
  'workflow_run',
  'workflow_delete',
  'cron_create',
  'cron_run',
  'cron_enable',
  'cron_delete',
  'ask_user',
  'report_progress',
]);

/** An id that every attempt of one call makes again: `prefix` and 10 characters. */
export const idFromCall = (prefix: 'wf_' | `cron_${string}_` | 'wfr_' | 'tsk_', callId: string): string =>
  prefix +
  BigInt(`0x${createHash('sha256').update(callId).digest('hex')}`)
    .toString(36)
    .slice(-10);

export const nameOrId = z.string().trim().min(1).max(80).describe('Name or id');

const step = z.union([
  z.string().trim().min(1).max(160).describe('tool or tool|Step name, for a tool that needs no arguments'),
  z.strictObject({
    tool: z
      .string()
      .max(80)
      .regex(/^[a-z0-9_]+$/),
    name: z.string().trim().min(1).max(80).optional(),
    args: z.record(z.string(), z.unknown()).default({}),
  }),
]);
type StepInput = z.output<typeof step>;

export type Lookup = (name: string) => Tool | undefined;

/** Checks steps as a run would meet them; the steps with their defaults filled in, or what is wrong, for the model. */
export function checkSteps(
  inputs: StepInput[],
  lookup: Lookup,
  names: () => Iterable<string>,
  autonomy: Autonomy,
): { ok: true; steps: RoutineStep[] } | { ok: false; error: string } {
  const steps: RoutineStep[] = [];
  const problems: string[] = [];
  for (const [index, input] of inputs.entries()) {
    const [shortTool = '', ...rest] = typeof input === 'string' ? input.split('|').map((part) => part.trim()) : [input.tool, input.name ?? ''];
    const name = rest.join('|') || `step-${index + 1}`;
    const at = `Step ${index + 1} (${shortTool.slice(0, 80)})`;
    const tool = lookup(shortTool);
    if (!tool) {
      problems.push(`${at}: there is no such tool.${suggestion(shortTool, names())}`);
      continue;
    }
    if (BLOCKED_STEPS.has(tool.name)) {
      problems.push(`${at}: this tool cannot be a step of a workflow.`);
      continue;
    }
    if (decideUnattended(tool.danger, autonomy) === 'refuse') {
      problems.push(
        `${at}: a ${tool.danger} tool needs the person's consent in this chat (autonomy: ${autonomy}), and nobody can be asked while a workflow runs.`,
      );
      continue;
    }
    const parsed = tool.schema.safeParse(typeof input === 'string' ? {} : input.args);
    if (!parsed.success) {
      problems.push(`${at}: the arguments are not right:\n${z.prettifyError(parsed.error)}`);
      continue;
    }
    if (tool.asksAlways?.(parsed.data as never)) {
      problems.push(`${at}: this needs the person's consent each time, and nobody can be asked while a workflow runs.`);
      continue;
    }
    steps.push({ name: name.slice(0, 80), tool: tool.name, args: parsed.data as Record<string, unknown> });
  }
  return problems.length === 0 ? { ok: true, steps } : { ok: false, error: problems.join('\n') };
}

/** Starts a run and returns at once; a second call with the same call id finds the first one's run. */
export async function startRun(context: ToolContext, routine: Routine, cronId?: string): Promise<ToolOutcome> {
  const runId = idFromCall('wfr_', context.callId);
  const running = await runningRun(context.db, routine.id);
  if (running && running.id !== runId && (await isLive(context, running))) {
    return {
      ok: false,
      output: `Workflow "${routine.name}" is running already (run ${running.id}). Its result will come to this chat.`,
      metadata: { runId: running.id, status: 'running' },
    };
  }
  const input: RoutineInput = { routineId: routine.id, chatId: routine.chat_id, runId, ...(cronId && { cronId }) };
  try {
    await context.temporal.workflow.start(ROUTINE, {
      workflowId: routineWorkflowId(runId),
      taskQueue: AGENT_QUEUE,
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `run of routine ${routine.id}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
  return {
    ok: true,
    output: `Started workflow "${routine.name}" (run ${runId}, ${steps(routine.steps.length)}). Its result will come to this chat when it is done.`,
    metadata: { runId, workflowId: routine.id, status: 'running' },
  };
}

/** Whether a run that the store calls running still has a workflow; one that an operator terminated is closed here, or it would block its routine for ever. */
async function isLive({ db, temporal }: ToolContext, run: RoutineRun): Promise<boolean> {
  const status = await temporal.workflow
    .getHandle(run.workflow_id)
    .describe()
    .then(
      (description) => description.status.name,
      (error) => {
        if (error instanceof WorkflowNotFoundError) return 'GONE';
        throw error;
      },
    );
  if (status === 'RUNNING') return true;
  await closeRun(db, run.id, 'failed', 'ended from outside before its result');
  return false;
}

export async function noSuchWorkflow({ db, chatId }: ToolContext, wanted: string): Promise<ToolOutcome> {
  const names = (await listRoutines(db, chatId)).map((routine) => routine.name);
  return { ok: false, output: `There is no workflow "${wanted}" in this chat.${suggestion(wanted, names)}` };
}

const steps = (count: number): string => `${count} ${count === 1 ? 'step' : 'steps'}`;
const common = { effect: 'idempotent', place: 'worker', timeoutMs: 30_000 } as const;

/** `lookup` and `names` are of the registry that these tools become part of. */
export const workflowTools = (lookup: Lookup, names: () => Iterable<string>): Tool[] => [
  defineTool({
    ...common,
    name: 'workflow_create',
    reads: [],
    sends: ['routine'],
    description: `Store a named workflow: an ordered list of tool calls that workflow_run or a cron runs later without you, stopping at the first failure. Arguments are checked now. Not allowed as steps: ${[...BLOCKED_STEPS].join(', ')}.`,
    danger: 'MODERATE',
    schema: z.strictObject({
      name: z.string().trim().min(1).max(80).describe('Unique in this chat, whatever its case'),
      description: z.string().trim().max(300).default(''),
      workspace: z.string().trim().min(1).max(100).optional().describe('Project folder that the steps are meant for'),
      steps: z.array(step).min(1).max(30),
    }),
    summarise: (args) => steps(args.steps.length),
    run: async (args, context) => {
      const chat = await chatAutonomy(context.db, context.chatId);
      const checked = checkSteps(args.steps, lookup, names, chat?.autonomy ?? 'supervised');
      if (!checked.ok) return { ok: false, output: checked.error };
      const id = idFromCall('wf_', context.callId);
      const routine = await insertRoutine(context.db, {
        id,
        chatId: context.chatId,
        name: args.name,
        description: args.description,
        workspace: args.workspace ?? null,
        steps: checked.steps,
        // where a person was asked about it, they have seen what it will do
        sources: unaskedSources(await taintOfCall(context.db, context.callId)),
      });
      if (!routine) return { ok: false, output: `A workflow "${args.name}" exists already. Delete it first or choose another name.` };
      return {
        ok: true,
        output: `Created workflow "${routine.name}" (${id}) with ${steps(routine.steps.length)}.`,
        metadata: { id, name: routine.name, steps: routine.steps },
      };
    },
  }),
  defineTool({
    ...common,
    name: 'workflow_list',
    reads: [],
    sends: [],
    description: 'List the workflows of this chat, and with includeRuns their latest runs.',
    danger: 'SAFE',
    schema: z.strictObject({ includeRuns: z.boolean().default(false), runLimit: z.int().min(1).max(50).default(10) }),
    run: async ({ includeRuns, runLimit }, { db, chatId }) => {
      const routines = await listRoutines(db, chatId);
      const runs = includeRuns ? await listRuns(db, chatId, runLimit) : [];
      const lines = routines.map(
        (routine) => `- ${routine.name} (${routine.id}): ${steps(routine.steps.length)}: ${routine.steps.map((entry) => entry.tool).join(', ')}`,
      );
      const ran = runs.map((run) => `- ${run.started_at.toISOString()} ${run.routine_name} (${run.id}): ${run.status}${run.summary ? `, ${run.summary}` : ''}`);
      return {
        ok: true,
        output: [
          lines.length > 0 ? `${lines.length} ${lines.length === 1 ? 'workflow' : 'workflows'}:` : 'There are no workflows in this chat.',
          ...lines,
          ...(includeRuns ? [ran.length > 0 ? 'Runs, newest first:' : 'No runs yet.', ...ran] : []),
        ].join('\n'),
        metadata: {
          workflows: routines.map(({ id, name, description, workspace, steps: list }) => ({ id, name, description, workspace, steps: list })),
          ...(includeRuns && {
            runs: runs.map((run) => ({
              id: run.id,
              workflow: run.routine_name,
              status: run.status,
              startedAt: run.started_at,
              endedAt: run.ended_at,
              summary: run.summary,
            })),
          }),
        },
      };
    },
  }),
  defineTool({
    ...common,
    name: 'workflow_run',
    reads: [],
    sends: ['routine'],
    description: 'Start a workflow now. It runs by itself; its result comes to this chat when it is done, so do not wait for it.',
    danger: 'MODERATE',
    schema: z.strictObject({ workflow: nameOrId }),
    run: async (args, context) => {
      const routine = await findRoutine(context.db, context.chatId, args.workflow);
      return routine ? await startRun(context, routine) : await noSuchWorkflow(context, args.workflow);
    },
  }),
  defineTool({
    ...common,
    name: 'workflow_delete',
    reads: [],
    sends: ['routine'],
    description: 'Delete a workflow together with its crons. A run that is under way finishes the step that it is in and ends; its result comes to the chat.',
    danger: 'MODERATE',
    schema: z.strictObject({ workflow: nameOrId }),
    run: async (args, context) => {
      const routine = await findRoutine(context.db, context.chatId, args.workflow);
      if (!routine) return await noSuchWorkflow(context, args.workflow);
      const [crons, running] = await Promise.all([cronsOf(context.db, routine.id), runningRun(context.db, routine.id)]);
      // schedules first: a crash in between leaves rows, by which the next attempt finds the rest
      for (const cron of crons) await deleteSchedule(context.temporal, cron.id);
      await deleteRoutine(context.db, routine.id);
      return {
        ok: true,
        output: [
          `Deleted workflow "${routine.name}"${crons.length > 0 ? ` and its crons: ${crons.map((cron) => cron.name).join(', ')}` : ''}.`,
          ...(running ? [`Its run ${running.id} finishes the step that it is in and ends; what it did comes to this chat.`] : []),
        ].join(' '),
        metadata: { id: routine.id, crons: crons.map((cron) => cron.id), ...(running && { endingRun: running.id }) },
      };
    },
  }),
];
