import { z } from 'zod';
import { changeSchedule } from '../../adapters/schedules.ts';
import { describeTime, nextFirings, parseSchedule } from '../../domain/cron.ts';
import { missingInputs } from '../../domain/routine-inputs.ts';
import { chatAutonomy } from '../../store/chats/threads.ts';
import { changeCron, cronsOf, findCron } from '../../store/routines/crons.ts';
import { changeRoutine, findRoutine } from '../../store/routines/routines.ts';
import { runningRun } from '../../store/routines/runs.ts';
import { taintOfCall, unaskedSources } from '../../store/steps/taint.ts';
import { named } from '../approval-words.ts';
import { defineTool, type Tool } from '../tool.ts';
import { isOften, noSuchCron } from './crons.ts';
import { nameOrId, noSuchWorkflow } from './find-routine.ts';
import { checkRoutineSteps, type Lookup, routineStep } from './routine-steps.ts';
import { steps } from './start-run.ts';

/** Changes of workflows and crons that exist. Their ids, history and schedules stay. */

const common = { effect: 'idempotent', runsIn: 'worker', timeoutMs: 30_000, reads: [], danger: 'MODERATE', notARoutineStep: true } as const;
const newName = z.string().trim().min(1).max(80).optional();

export const routineChanges = (lookup: Lookup, names: () => Iterable<string>): Tool[] => [
  defineTool({
    ...common,
    name: 'workflow_update',
    sends: ['routine'],
    description: 'Change a workflow; its crons and history stay. steps replaces all of them.',
    schema: z.strictObject({
      workflow: nameOrId,
      name: newName,
      description: z.string().trim().max(300).optional(),
      steps: z.array(routineStep).min(1).max(30).optional(),
    }),
    asks: (args) => `Change the workflow ${named(args.workflow)}?`,
    run: async (args, context) => {
      const { db, chatId, callId } = context;
      const routine = await findRoutine(db, chatId, args.workflow);
      if (!routine) return await noSuchWorkflow(context, args.workflow);
      const running = await runningRun(db, routine.id);
      // a run reads each step when it comes to it, and must not find the steps of another workflow
      if (running) return { ok: false, output: `Workflow "${routine.name}" is running now (run ${running.id}). Change it after that.` };
      const chat = await chatAutonomy(db, chatId);
      const checked = args.steps && checkRoutineSteps(args.steps, lookup, names, chat?.autonomy ?? 'supervised', routine.workspace ?? undefined);
      if (checked && !checked.ok) return { ok: false, output: checked.error };
      const missing = checked && (await cronsOf(db, routine.id)).length > 0 ? missingInputs(checked.steps, {}) : [];
      if (missing.length > 0) return { ok: false, output: `A cron runs this workflow, and nobody gives it inputs: ${missing.join(', ')}. Write defaults.` };
      const sources = unaskedSources(await taintOfCall(db, callId));
      const { name, description } = args;
      const changed = await changeRoutine(db, routine.id, { name, description, ...(checked && { steps: checked.steps, sources }) });
      if (!changed) return { ok: false, output: `A workflow "${args.name}" exists already. Choose another name.` };
      return {
        ok: true,
        output: `Changed workflow "${changed.name}" (${changed.id}), which has ${steps(changed.steps.length)}.`,
        metadata: { id: changed.id, name: changed.name, steps: changed.steps },
      };
    },
  }),
  defineTool({
    ...common,
    name: 'cron_update',
    sends: ['schedule'],
    description: 'Change the schedule, time zone or name of a cron.',
    dangerOf: ({ schedule, timezone = 'UTC' }) => (schedule !== undefined && isOften({ schedule, timezone }) ? 'DANGEROUS' : 'MODERATE'),
    schema: z.strictObject({
      cron: nameOrId,
      schedule: z.string().trim().min(1).max(100).optional(),
      timezone: z.string().trim().min(1).max(60).optional(),
      name: newName,
    }),
    asks: (args) => `Change the schedule ${named(args.cron)}?`,
    run: async (args, context) => {
      const cron = await findCron(context.db, context.chatId, args.cron);
      if (!cron) return await noSuchCron(context, args.cron);
      const [now, timeZone] = [new Date(), args.timezone ?? cron.time_zone];
      const parsed = parseSchedule(args.schedule ?? cron.schedule, timeZone, now);
      if (!parsed.ok) return { ok: false, output: `The schedule is not right: ${parsed.error}.` };
      const { schedule } = parsed;
      // the row first: a schedule that is made again is made from it
      const changed = await changeCron(context.db, cron.id, { name: args.name ?? cron.name, schedule, time_zone: timeZone });
      if (!changed) return { ok: false, output: `A cron "${args.name}" exists already. Choose another name.` };
      await changeSchedule(context.temporal, cron.id, { schedule, timeZone });
      const next = cron.enabled ? nextFirings(schedule, timeZone, now, 1)[0] : undefined;
      return {
        ok: true,
        output: `Changed cron "${changed.name}": ${schedule} in ${timeZone}. ${next ? `It fires next on ${describeTime(next, timeZone)}.` : 'It is disabled.'}`,
        metadata: { id: cron.id, name: changed.name, schedule, timezone: timeZone, enabled: cron.enabled, nextRunAt: next?.toISOString() },
      };
    },
  }),
];
