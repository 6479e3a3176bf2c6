import { z } from 'zod';
import { deleteSchedule } from '../../adapters/schedules.ts';
import { prefix } from '../../domain/text/storable.ts';
import { chatAutonomy } from '../../store/chats/threads/threads.ts';
import { cronsOf } from '../../store/routines/crons.ts';
import { deleteRoutine, findRoutine, insertRoutine, listRoutines } from '../../store/routines/routines.ts';
import { listRuns, runningRun } from '../../store/routines/runs.ts';
import { taintOfCall, unaskedSources } from '../../store/turns/steps/taint.ts';
import { toldInPrompt, untold } from '../declarations.ts';
import { defineTool, idFromCall, named, type Tool } from '../tool.ts';
import { inWords, isOften, makeCron, planCron, scheduleArgument, timeZoneArgument } from './crons.ts';
import { checkRoutineSteps, givenInputs, type Lookup, problemOfRun, routineStep } from './routine-steps.ts';
import { nameOrId, noSuchWorkflow, startRun, steps } from './start-run.ts';

/** The `workflow_*` tools of the contract. The code calls the record a routine, because a workflow is Temporal's. */

/** How much a list of runs says of a step that failed, in characters. */
const REASON_CHARS = 200;

const common = { effect: 'idempotent', runsIn: 'worker', timeoutMs: 30_000 } as const;

/** `lookup` and `names` belong to the registry that this tool becomes part of. */
const workflowCreate = (lookup: Lookup, names: () => Iterable<string>): Tool =>
  defineTool({
    ...common,
    name: 'workflow_create',
    family: 'routines',
    reads: [],
    sends: ['routine'],
    sendsAlso: ({ schedule }) => (schedule === undefined ? [] : ['schedule']),
    description:
      'Store tool calls that workflow_run or a cron runs in order, without you; with a schedule, make its cron at once. Their texts may hold {{input.NAME}} or {{input.NAME=default}}, which the inputs of a run fill.',
    danger: 'MODERATE',
    dangerOf: ({ schedule, timezone }) =>
      schedule !== undefined && isOften({ schedule, timezone }) ? 'DANGEROUS' : 'MODERATE',
    schema: z.strictObject({
      name: z.string().trim().min(1).max(80).describe('Unique in this chat'),
      description: z.string().trim().max(300).default('').meta(untold('For people')),
      workspace: z.string().trim().min(1).max(100).optional().describe('For steps that name none'),
      steps: z.array(routineStep).min(1).max(30),
      schedule: scheduleArgument.optional().meta(toldInPrompt('As in cron_create')),
      timezone: timeZoneArgument.optional(),
    }),
    summarise: (args) => steps(args.steps.length),
    notARoutineStep: true,
    inQuestion: ['name', 'steps', 'schedule', 'timezone'],
    asks: ({ name, schedule, timezone }, _, say) =>
      schedule === undefined
        ? say('ask.routine', { name: named(name) })
        : say('ask.routineWithSchedule', { name: named(name), often: inWords(schedule, timezone, say) }),
    run: async (args, context) => {
      const chat = await chatAutonomy(context.db, context.chatId);
      const checked = checkRoutineSteps(args.steps, lookup, names, chat?.autonomy ?? 'supervised', args.workspace);
      if (!checked.ok) return { ok: false, output: checked.error };
      const { name, schedule, timezone } = args;
      const cron =
        schedule === undefined
          ? null
          : (problemOfRun({ name, steps: checked.steps }, lookup, {}) ??
            (await planCron(context, { schedule, timezone, enabled: true }, name)));
      if (typeof cron === 'string') return { ok: false, output: cron };
      const id = idFromCall('wf_', context.callId);
      const routine = await insertRoutine(context.db, {
        id,
        chatId: context.chatId,
        name: args.name,
        description: args.description,
        workspace: args.workspace ?? null,
        steps: checked.steps,
        // if a person was asked about it, they have seen what it will do
        sources: unaskedSources(await taintOfCall(context.db, context.callId)),
      });
      if (!routine)
        return {
          ok: false,
          output: `A routine "${args.name}" exists already. Change it with workflow_update, or choose another name.`,
        };
      const scheduled = cron && (await makeCron(context, cron, routine, lookup));
      const made = `Saved the routine "${routine.name}" (${id}) with ${steps(routine.steps.length)}.`;
      return {
        ok: scheduled?.ok ?? true,
        output: scheduled ? `${made} ${scheduled.output}` : made,
        metadata: {
          id,
          name: routine.name,
          steps: routine.steps,
          ...(scheduled?.metadata && { cron: scheduled.metadata }),
        },
      };
    },
  });

const others = (lookup: Lookup): Tool[] => [
  defineTool({
    ...common,
    name: 'workflow_list',
    family: 'routines',
    onStore: 'reads',
    reads: [],
    sends: [],
    description: 'List the routines of this chat, with includeRuns also their latest runs.',
    danger: 'SAFE',
    schema: z.strictObject({ includeRuns: z.boolean().default(false), runLimit: z.int().min(1).max(50).default(10) }),
    run: async ({ includeRuns, runLimit }, { db, chatId }) => {
      const routines = await listRoutines(db, chatId);
      const runs = includeRuns ? await listRuns(db, chatId, runLimit) : [];
      const lines = routines.map(
        (routine) =>
          `- ${routine.name} (${routine.id}): ${steps(routine.steps.length)}: ${routine.steps.map((entry) => entry.tool).join(', ')}`,
      );
      const ran = runs.map((run) => {
        const failed = run.results.find((result) => !result.ok);
        const why = failed ? `; ${failed.name}: ${prefix(failed.output, REASON_CHARS).replaceAll('\n', ' ')}` : '';
        return `- ${run.started_at.toISOString()} ${run.routine_name} (${run.id}): ${run.status}${run.summary ? `, ${run.summary}` : ''}${why}`;
      });
      return {
        ok: true,
        output: [
          lines.length > 0
            ? `${lines.length} ${lines.length === 1 ? 'routine' : 'routines'}:`
            : 'There are no routines in this chat.',
          ...lines,
          ...(includeRuns ? [ran.length > 0 ? 'Runs, newest first:' : 'No runs yet.', ...ran] : []),
        ].join('\n'),
        metadata: {
          workflows: routines.map(({ id, name, description, workspace, steps: list }) => ({
            id,
            name,
            description,
            workspace,
            steps: list,
          })),
          ...(includeRuns && {
            runs: runs.map((run) => ({
              id: run.id,
              workflow: run.routine_name,
              status: run.status,
              startedAt: run.started_at,
              endedAt: run.ended_at,
              summary: run.summary,
              steps: run.results.map(({ name, tool, ok, skipped }) => ({
                name,
                tool,
                ok,
                ...(skipped && { skipped }),
              })),
            })),
          }),
        },
      };
    },
  }),
  defineTool({
    ...common,
    name: 'workflow_run',
    family: 'routines',
    reads: [],
    sends: ['routine'],
    description: 'Start a workflow now. It runs by itself, and its result comes to this chat.',
    danger: 'MODERATE',
    schema: z.strictObject({ workflow: nameOrId, inputs: givenInputs }),
    notARoutineStep: true,
    inQuestion: ['workflow'],
    asks: (args, _, say) => say('ask.runRoutine', { name: named(args.workflow) }),
    run: async (args, context) => {
      const routine = await findRoutine(context.db, context.chatId, args.workflow);
      if (!routine) return await noSuchWorkflow(context, args.workflow);
      const problem = problemOfRun(routine, lookup, args.inputs ?? {});
      return problem
        ? { ok: false, output: problem }
        : await startRun(context, routine, { inputs: args.inputs !== undefined });
    },
  }),
  defineTool({
    ...common,
    name: 'workflow_delete',
    family: 'routines',
    reads: [],
    sends: ['routine'],
    description: 'Delete a workflow and its crons. A run that is under way ends after its current step.',
    danger: 'MODERATE',
    schema: z.strictObject({ workflow: nameOrId }),
    notARoutineStep: true,
    inQuestion: ['workflow'],
    asks: (args, _, say) => say('ask.deleteRoutine', { name: named(args.workflow) }),
    run: async (args, context) => {
      const routine = await findRoutine(context.db, context.chatId, args.workflow);
      if (!routine) return await noSuchWorkflow(context, args.workflow);
      const [crons, running] = await Promise.all([cronsOf(context.db, routine.id), runningRun(context.db, routine.id)]);
      // schedules first: after a crash in between, the next attempt finds the rest by the rows that are left
      for (const cron of crons) await deleteSchedule(context.temporal, cron.id);
      await deleteRoutine(context.db, routine.id);
      return {
        ok: true,
        output: [
          `Deleted the routine "${routine.name}"${crons.length > 0 ? `, with its schedules: ${crons.map((cron) => cron.name).join(', ')}` : ''}.`,
          ...(running ? ['Its run stops after its current step and reports here.'] : []),
        ].join(' '),
        metadata: { id: routine.id, crons: crons.map((cron) => cron.id), ...(running && { endingRun: running.id }) },
      };
    },
  }),
];

export const workflowTools = (lookup: Lookup, names: () => Iterable<string>): Tool[] => [
  workflowCreate(lookup, names),
  ...others(lookup),
];
