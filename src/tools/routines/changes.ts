import { z } from 'zod';
import { changeSchedule, createSchedule, scheduleOfCron, setScheduleEnabled } from '../../adapters/schedules.ts';
import { scheduleWithNext } from '../../domain/chat/words/schedule-words.ts';
import { unionOf } from '../../domain/consent/taint.ts';
import { nextFirings, parseSchedule } from '../../domain/cron.ts';
import { isInterval, readInterval } from '../../domain/firings.ts';
import { type Given, type Inputs, inputsOf } from '../../domain/routine-inputs.ts';
import { chatAutonomy } from '../../store/chats/threads/threads.ts';
import { changePrompt, promptOf } from '../../store/routines/automations.ts';
import { type Cron, changeCron, cronsOf, findCron, markSent, setCronEnabled } from '../../store/routines/crons.ts';
import { changeRoutine, findRoutine } from '../../store/routines/routines.ts';
import { runningRun } from '../../store/routines/runs.ts';
import { taintOfCall, unaskedSources } from '../../store/turns/steps/taint.ts';
import { chatArgument, inChat } from '../chats.ts';
import { defineTool, named, type Tool, type ToolContext } from '../tool.ts';
import { inWords, isOften, noSuchCron, prompt } from './crons.ts';

import { checkRoutineSteps, givenInputs, type Lookup, problemOfRun, routineStep } from './routine-steps.ts';
import { nameOrId, noSuchWorkflow, steps } from './start-run.ts';

/** Changes of workflows and crons that exist. Their ids, history and schedules stay. */

const common = {
  effect: 'idempotent',
  runsIn: 'worker',
  timeoutMs: 30_000,
  reads: [],
  danger: 'MODERATE',
  notARoutineStep: true,
} as const;
const newName = z.string().trim().min(1).max(80).optional();

export const routineChanges = (lookup: Lookup, names: () => Iterable<string>): Tool[] => [
  defineTool({
    ...common,
    name: 'workflow_update',
    family: 'routines',
    sends: ['routine'],
    description: 'Change a workflow; its crons and history stay. steps replaces all of them.',
    schema: z.strictObject({
      workflow: nameOrId,
      name: newName,
      description: z.string().trim().max(300).optional(),
      steps: z.array(routineStep).min(1).max(30).optional(),
    }),
    inQuestion: ['workflow', 'steps'],
    asks: (args, _, say) => say('ask.changeRoutine', { name: named(args.workflow) }),
    run: async (args, context) => {
      const { db, chatId, callId } = context;
      const routine = await findRoutine(db, chatId, args.workflow);
      if (!routine) return await noSuchWorkflow(context, args.workflow);
      const running = await runningRun(db, routine.id);
      // a run reads each step when it comes to it, and must not find the steps of another workflow
      if (running)
        return {
          ok: false,
          output: `The routine "${routine.name}" is running now (run ${running.id}). Change it after that.`,
        };
      const chat = await chatAutonomy(db, chatId);
      const checked =
        args.steps &&
        checkRoutineSteps(args.steps, lookup, names, chat?.autonomy ?? 'supervised', routine.workspace ?? undefined);
      if (checked && !checked.ok) return { ok: false, output: checked.error };
      const sources = unaskedSources(await taintOfCall(db, callId));
      const { name, description } = args;
      const changed = await changeRoutine(db, routine.id, {
        name,
        description,
        ...(checked && { steps: checked.steps, sources }),
      });
      if (!changed) return { ok: false, output: `A routine "${args.name}" exists already. Choose another name.` };
      // not refused: what a cron gives can be changed only once the workflow takes it
      const unfit = (await cronsOf(db, routine.id)).flatMap((cron) => {
        const problem = problemOfRun(changed, lookup, cron.inputs);
        return problem
          ? [`Its cron "${cron.name}" cannot run it until cron_update changes what it gives: ${problem}`]
          : [];
      });
      return {
        ok: true,
        output: [
          `Changed the routine "${changed.name}" (${changed.id}), which has ${steps(changed.steps.length)}.`,
          ...unfit,
        ].join(' '),
        metadata: { id: changed.id, name: changed.name, steps: changed.steps },
      };
    },
  }),
  defineTool({
    ...common,
    name: 'cron_update',
    family: 'routines',
    sends: ['schedule'],
    description:
      'Change the schedule, time zone, name, prompt or some inputs of a cron, or switch it off and on. What it missed meanwhile is not caught up.',
    dangerOf: ({ chat, schedule, timezone = 'UTC' }) =>
      chat !== undefined || (schedule !== undefined && isOften({ schedule, timezone })) ? 'DANGEROUS' : 'MODERATE',
    mainOnly: ({ chat }) => chat !== undefined,
    schema: z.strictObject({
      cron: nameOrId,
      chat: chatArgument,
      schedule: z.string().trim().min(1).max(100).optional(),
      timezone: z.string().trim().min(1).max(60).optional(),
      enabled: z.boolean().optional(),
      name: newName,
      prompt: prompt.optional(),
      inputs: givenInputs,
    }),
    inQuestion: ['cron', 'schedule', 'timezone', 'enabled'],
    asks: ({ cron, schedule, timezone, enabled, ...more }, _, say) => {
      const change = [schedule, timezone, ...Object.values(more)].some((given) => given !== undefined);
      if (enabled !== undefined && !change)
        return say(enabled ? 'ask.scheduleOn' : 'ask.scheduleOff', { name: named(cron) });
      const then = enabled === undefined ? '' : say(enabled ? 'then.on' : 'then.off');
      return schedule === undefined
        ? say('ask.changeSchedule', { name: named(cron), then })
        : say('ask.reschedule', { name: named(cron), often: inWords(schedule, timezone, say), then });
    },
    run: async ({ chat, cron: wanted, enabled, ...change }, here) => {
      const context = await inChat(here, chat);
      if (typeof context === 'string') return { ok: false, output: context };
      const cron = await findCron(context.db, context.chatId, wanted);
      if (!cron) return await noSuchCron(context, wanted);
      const isSwitch = enabled !== undefined && Object.values(change).every((given) => given === undefined);
      const changed = isSwitch ? cron : await changedCron(context, cron, change, lookup);
      if (typeof changed === 'string') return { ok: false, output: changed };
      const { id, name, schedule, time_zone: timeZone } = changed;
      if (enabled !== undefined) await switchCron(context, changed, enabled);
      const [now, isOn] = [new Date(), enabled ?? changed.enabled];
      const when = scheduleWithNext({ schedule, timeZone, enabled: isOn }, now);
      const is = !isSwitch ? `now: ${when}` : isOn ? `on again: ${when}` : 'switched off';
      const next = isOn ? nextFirings(schedule, timeZone, now, 1)[0] : undefined;
      return {
        ok: true,
        output: `The schedule "${name}" is ${is}.`,
        metadata: { id, name, schedule, timezone: timeZone, enabled: isOn, nextRunAt: next?.toISOString() },
      };
    },
  }),
];

interface CronUpdate {
  schedule?: string | undefined;
  timezone?: string | undefined;
  name?: string | undefined;
  prompt?: string | undefined;
  inputs?: Inputs | undefined;
}

/** The cron after a change of what it does and when; a text says why it cannot be changed so. */
async function changedCron(
  context: ToolContext,
  cron: Cron,
  { schedule: written = cron.schedule, timezone = cron.time_zone, name = cron.name, prompt: wish, inputs }: CronUpdate,
  lookup: Lookup,
): Promise<Cron | string> {
  if (cron.rrule !== null)
    return `"${cron.name}" is an automation: it is changed where it was made, over the runtime API.`;
  const parsed = parseSchedule(written, timezone, new Date());
  if (!parsed.ok) return `The schedule is not right: ${parsed.error}.`;
  const before = await promptOf(context.db, cron);
  if (wish !== undefined && !before) return `"${cron.name}" runs a workflow: change that with workflow_update.`;
  if (inputs && before) return 'A prompt takes no inputs: write them into it.';
  const given = await changedGiven(context, cron, inputs, lookup);
  if (typeof given === 'string') return given;
  // the row first: a schedule that is made again is made from it
  const fields = { name, schedule: goingOn(parsed.schedule, cron.schedule), time_zone: timezone, given };
  const changed = await changeCron(context.db, cron.id, fields);
  if (!changed) return `A schedule "${name}" exists already. Choose another name.`;
  if (before) {
    const sources = unaskedSources(await taintOfCall(context.db, context.callId));
    const args = wish === undefined ? undefined : { ...before, prompt: wish };
    await changePrompt(context.db, changed, { name: changed.name, args, sources });
  }
  await changeSchedule(context.temporal, scheduleOfCron(changed, context.config.FETCH_CATCHUP_HOURS));
  await markSent(context.db, changed);
  return changed;
}

/** An interval that is named again goes on as it was: one that began anew would leave out its next run. */
function goingOn(schedule: string, before: string): string {
  if (!isInterval(schedule) || !isInterval(before)) return schedule;
  const [{ every }, was] = [readInterval(schedule), readInterval(before)];
  return every === was.every && was.days.length === 0 ? before : schedule;
}

/** A schedule that was lost is made again. */
async function switchCron({ db, temporal, config }: ToolContext, { id }: Cron, enabled: boolean): Promise<void> {
  const changed = await setCronEnabled(db, id, enabled);
  if (!(await setScheduleEnabled(temporal, id, enabled)))
    await createSchedule(temporal, scheduleOfCron(changed, config.FETCH_CATCHUP_HOURS));
  await markSent(db, changed);
}

/**
 * What a cron gives after a change, or why it cannot. The inputs that are not named stay, as long as the workflow has
 * them.
 */
async function changedGiven(
  { db, chatId, callId }: ToolContext,
  cron: Cron,
  inputs: Inputs | undefined,
  lookup: Lookup,
): Promise<Given | undefined | string> {
  const routine = inputs && (await findRoutine(db, chatId, cron.routine_id));
  if (!routine) return undefined;
  const known = inputsOf(routine.steps.map(({ args }) => args));
  const kept = Object.fromEntries(Object.entries(cron.inputs).filter(([name]) => known.has(name)));
  const given = { ...kept, ...inputs };
  return (
    problemOfRun(routine, lookup, given) ?? {
      inputs: given,
      sources: unionOf(cron.sources, unaskedSources(await taintOfCall(db, callId))),
    }
  );
}
