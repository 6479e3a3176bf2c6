import { z } from 'zod';
import { createSchedule, deleteSchedule, describeSchedule, scheduleOfCron } from '../../adapters/schedules.ts';
import { PROMPT_STEP } from '../../contracts/routine.ts';
import { momentInWords, scheduleInWords, scheduleWithNext } from '../../domain/chat/words/schedule-words.ts';
import { nextFirings, parseSchedule, scheduleSlug, shortestGap } from '../../domain/cron.ts';
import type { Inputs } from '../../domain/routine-inputs.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { cut } from '../../domain/text/storable.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import { zoneOf } from '../../store/chats/preferences.ts';
import { isMainChat } from '../../store/owner/memories.ts';
import { listPlaces } from '../../store/owner/places.ts';
import { insertPrompt, promptOf } from '../../store/routines/automations.ts';
import { deleteCron, findCron, insertCron, listCrons } from '../../store/routines/crons.ts';
import { findRoutine, listRoutines, type Routine } from '../../store/routines/routines.ts';
import { lastRunOfCron } from '../../store/routines/runs.ts';
import { taintOfCall, unaskedSources } from '../../store/turns/steps/taint.ts';
import { chatArgument, inChat } from '../chats.ts';
import { untold } from '../declarations.ts';
import { defineTool, idFromCall, named, shown, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { estimateOf, givenInputs, type Lookup, problemOfRun } from './routine-steps.ts';
import { nameOrId, noSuchWorkflow, startRun } from './start-run.ts';

/** The `cron_*` tools of the contract. Each cron is a row of ours and a Temporal Schedule, which fires it. */

const common = { effect: 'idempotent', runsIn: 'worker', timeoutMs: 30_000 } as const;

/** Characters. An approval shows it whole. */
const LONGEST_PROMPT = 4_000;
export const prompt = z
  .string()
  .trim()
  .min(1)
  .max(LONGEST_PROMPT)
  .describe('What to do then, as the person would say it; it runs as a turn of this chat');

/** Most crons in one chat. */
const MOST_CRONS = 50;
/** A cron that fires more often needs a person's yes. */
const OFTEN_MS = 5 * MINUTE;

export function isOften({ schedule, timezone = 'UTC' }: { schedule: string; timezone?: string | undefined }): boolean {
  const parsed = parseSchedule(schedule, timezone, new Date());
  return parsed.ok && shortestGap(parsed.schedule, new Date()) < OFTEN_MS;
}

/** A schedule as the model wrote it, for the person who is asked about it. */
export function inWords(schedule: unknown, timezone: unknown, say: Say = english): string {
  const parsed = parseSchedule(String(schedule), 'UTC', new Date());
  const often = parsed.ok ? scheduleInWords(parsed.schedule, say) : shown(schedule);
  return timezone ? say('every.zone', { often, zone: shown(timezone) }) : often;
}

export const scheduleArgument = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .describe('Five fields of cron, @daily, "every 90 minutes", or once: a local time, 2026-11-30T09:00');
export const timeZoneArgument = z.string().trim().min(1).max(60);

/** A cron that can be made. */
interface PlannedCron {
  id: string;
  name: string;
  schedule: string;
  timeZone: string;
  enabled: boolean;
  inputs: Inputs;
}

/** Checks a cron before anything is stored. A text says what is wrong, for the model. */
export async function planCron(
  { db, config, chatId, callId }: ToolContext,
  args: { schedule: string; timezone?: string | undefined; enabled: boolean; inputs?: Inputs | undefined },
  name: string,
): Promise<PlannedCron | string> {
  const timeZone = args.timezone ?? (await zoneOf(db, chatId, config));
  const parsed = parseSchedule(args.schedule, timeZone, new Date());
  if (!parsed.ok) return `The schedule is not right: ${parsed.error}.`;
  const { schedule } = parsed;
  const id = idFromCall(`cron_${scheduleSlug(schedule)}_`, callId);
  const others = (await listCrons(db, chatId)).filter((cron) => cron.id !== id);
  if (others.length >= MOST_CRONS)
    return `This chat has ${others.length} schedules, and no more than ${MOST_CRONS} are allowed. Delete one first with cron_delete.`;
  if (others.some((cron) => cron.name.toLowerCase() === name.toLowerCase())) return nameTaken(name);
  return { id, name, schedule, timeZone, enabled: args.enabled, inputs: args.inputs ?? {} };
}

const nameTaken = (name: string): string => `A schedule "${name}" exists already. Give this one another name.`;

/** Makes a cron of a routine, or of a prompt. */
export async function makeCron(
  { db, temporal, config, chatId, callId }: ToolContext,
  { inputs, ...planned }: PlannedCron,
  does: Routine | { prompt: string; isolated: boolean | undefined },
  lookup: Lookup,
): Promise<ToolOutcome> {
  const { id, name, schedule, timeZone, enabled } = planned;
  // the row first: after a crash before the schedule exists, a retry of this call completes both
  const sources = unaskedSources(await taintOfCall(db, callId));
  const cron =
    'id' in does
      ? await insertCron(db, { ...planned, chatId, routineId: does.id, given: { inputs, sources } })
      : await insertPrompt(db, { ...planned, chatId, ...does, sources });
  if (!cron) return { ok: false, output: nameTaken(name) };
  await createSchedule(temporal, scheduleOfCron(cron, config.FETCH_CATCHUP_HOURS));
  const now = new Date();
  const next = enabled ? nextFirings(schedule, timeZone, now, 1)[0] : undefined;
  const when = scheduleWithNext({ schedule, timeZone, enabled }, now);
  const runs =
    'id' in does ? does : { id: cron.routine_id, steps: [{ name: PROMPT_STEP, tool: PROMPT_STEP, args: {} }] };
  const cost = await estimateOf(db, { ...runs, schedule, timeZone }, lookup);
  const what = 'id' in does && name !== does.name ? ` It runs "${does.name}".` : '';
  return {
    ok: true,
    output: `Scheduled "${name}": ${when}.${what} ${cost}`.trim(),
    metadata: {
      id,
      name,
      workflowId: cron.routine_id,
      schedule,
      timezone: timeZone,
      enabled,
      inputs: Object.keys(inputs),
      nextRunAt: next?.toISOString(),
    },
  };
}

export async function noSuchCron({ db, chatId }: ToolContext, wanted: string): Promise<ToolOutcome> {
  const names = (await listCrons(db, chatId)).map((cron) => cron.name);
  return { ok: false, output: `There is no schedule "${wanted}" in this chat.${suggestion(wanted, names)}` };
}

/** Of a tool that changes a schedule: one of another chat only the owner's own chat changes, after a yes. */
const ofAnyChat = {
  mainOnly: ({ chat }: { chat?: string | undefined }) => chat !== undefined,
  dangerOf: ({ chat }: { chat?: string | undefined }) => (chat === undefined ? 'MODERATE' : 'DANGEROUS'),
} as const;

/** How many schedules other chats have, where this one may see them. */
async function elsewhere({ db, config, chatId }: ToolContext): Promise<string[]> {
  if (!(await isMainChat(db, chatId, config))) return [];
  const places = await listPlaces(db);
  const counted = await Promise.all(
    places
      .filter((place) => place.chatId !== chatId)
      .map(async ({ chatId: other, name }) => ({ name, count: (await listCrons(db, other)).length })),
  );
  const lines = counted.filter(({ count }) => count > 0).map(({ name, count }) => `- in ${named(name)}: ${count}`);
  return lines.length > 0 ? ['Schedules of other chats, which the argument chat lists:', ...lines] : [];
}

export const cronTools = (lookup: Lookup): Tool[] => [
  defineTool({
    ...common,
    name: 'cron_create',
    family: 'core',
    reads: [],
    sends: ['schedule'],
    description:
      'Do what a prompt says, or run a workflow, on a schedule; each result comes to this chat. Where day of month and weekday are both given, both must match.',
    danger: 'MODERATE',
    dangerOf: (args) => (args.chat !== undefined || isOften(args) ? 'DANGEROUS' : 'MODERATE'),
    mainOnly: ({ chat }) => chat !== undefined,
    schema: z.strictObject({
      prompt: prompt.optional(),
      workflow: nameOrId.optional(),
      schedule: scheduleArgument,
      name: z.string().trim().min(1).max(80).optional(),
      timezone: timeZoneArgument.optional().describe('IANA, if not the person’s'),
      enabled: z.boolean().default(true),
      inputs: givenInputs,
      isolated: z.boolean().optional().meta(untold('A prompt begins each time without what was said before')),
      chat: chatArgument,
    }),
    notARoutineStep: true,
    inQuestion: ['workflow', 'prompt', 'schedule', 'timezone', 'enabled'],
    asks: ({ schedule, timezone, workflow, prompt: wish }, _, say) => {
      const often = inWords(schedule, timezone, say);
      const what =
        workflow === undefined ? shown(wish, LONGEST_PROMPT) : say('ask.ofRoutine', { name: named(workflow) });
      return say('ask.schedule', {
        often: `${often[0]!.toUpperCase()}${often.slice(1)}`,
        what: `${what}${/[.?!।]$/.test(what) ? '' : '.'}`,
      });
    },
    run: async (args, here) => {
      const context = await inChat(here, args.chat);
      if (typeof context === 'string') return { ok: false, output: context };
      const { workflow, inputs = {} } = args;
      if ((workflow === undefined) === (args.prompt === undefined))
        return { ok: false, output: 'Give either a prompt or a workflow.' };
      const routine = workflow === undefined ? null : await findRoutine(context.db, context.chatId, workflow);
      if (routine === undefined) return await noSuchWorkflow(context, workflow!);
      const problem = routine
        ? problemOfRun(routine, lookup, inputs)
        : args.inputs && 'A prompt takes no inputs: write them into it.';
      if (problem) return { ok: false, output: problem };
      const planned = await planCron(context, args, args.name ?? routine?.name ?? cut(args.prompt!, 60));
      return typeof planned === 'string'
        ? { ok: false, output: planned }
        : await makeCron(context, planned, routine ?? { prompt: args.prompt!, isolated: args.isolated }, lookup);
    },
  }),
  defineTool({
    ...common,
    name: 'cron_list',
    family: 'routines',
    reads: [],
    sends: [],
    description: 'List the schedules of this chat, when they fire and how they ended last.',
    danger: 'SAFE',
    mainOnly: ({ chat }) => chat !== undefined,
    schema: z.strictObject({ chat: chatArgument }),
    run: async ({ chat }, here) => {
      const context = await inChat(here, chat);
      if (typeof context === 'string') return { ok: false, output: context };
      const { db, temporal, chatId } = context;
      const now = new Date();
      const routines = new Map((await listRoutines(db, chatId)).map((routine) => [routine.id, routine.name]));
      const crons = await Promise.all(
        (await listCrons(db, chatId)).map(async (cron) => {
          const [view, last] = await Promise.all([describeSchedule(temporal, cron.id), lastRunOfCron(db, cron.id)]);
          return {
            id: cron.id,
            name: cron.name,
            workflow: routines.get(cron.routine_id) ?? null,
            prompt: cron.rrule === null ? ((await promptOf(db, cron))?.prompt ?? null) : null,
            schedule: cron.rrule ?? cron.schedule,
            words: scheduleInWords(cron.schedule),
            timezone: cron.time_zone,
            state: !view ? 'unscheduled' : view.paused ? 'disabled' : 'enabled',
            nextRunAt: (view?.paused === false && nextFirings(cron.schedule, cron.time_zone, now, 1)[0]) || null,
            lastRunAt: last?.started_at ?? view?.lastFired ?? null,
            lastStatus: last?.status ?? null,
            lastResult: last?.summary ?? null,
            // names only: a value may be text of others, which a person allowed for the runs
            inputs: Object.keys(cron.inputs),
          };
        }),
      );
      const lines = crons.map((cron) => {
        const next =
          cron.state === 'unscheduled'
            ? 'has no schedule any more: cron_update with enabled makes it again'
            : cron.state === 'disabled'
              ? 'switched off'
              : cron.nextRunAt
                ? `next ${momentInWords(cron.nextRunAt, cron.timezone, now)}`
                : 'over';
        const last = cron.lastRunAt
          ? `last ${momentInWords(cron.lastRunAt, cron.timezone, now)}${cron.lastStatus ? `: ${cron.lastStatus}` : ''}${cron.lastResult ? `, ${cron.lastResult}` : ''}`
          : 'not run yet';
        const gives = cron.inputs.length > 0 ? `; gives ${cron.inputs.join(', ')}` : '';
        const runs =
          cron.workflow === cron.name || cron.prompt === cron.name
            ? ''
            : ` (${cron.workflow === null ? (cron.prompt ?? 'a prompt of its own') : `runs ${cron.workflow}`})`;
        return `- ${cron.name}${runs}: ${cron.words}${gives}; ${next}; ${last}`;
      });
      return {
        ok: true,
        output: [
          crons.length > 0
            ? `${crons.length} ${crons.length === 1 ? 'schedule' : 'schedules'}:`
            : 'There are no schedules in this chat.',
          ...lines,
          ...(chat === undefined ? await elsewhere(here) : []),
        ].join('\n'),
        metadata: { crons: crons.map(({ words: _, ...cron }) => cron) },
      };
    },
  }),
  defineTool({
    ...common,
    name: 'cron_run',
    family: 'routines',
    reads: [],
    sends: ['schedule'],
    description: 'Run the workflow of a cron now, besides its schedule.',
    danger: 'MODERATE',
    ...ofAnyChat,
    schema: z.strictObject({ cron: nameOrId, chat: chatArgument }),
    notARoutineStep: true,
    inQuestion: ['cron'],
    asks: (args, _, say) => say('ask.runSchedule', { name: named(args.cron) }),
    run: async (args, here) => {
      const context = await inChat(here, args.chat);
      if (typeof context === 'string') return { ok: false, output: context };
      const cron = await findCron(context.db, context.chatId, args.cron);
      const routine = cron && (await findRoutine(context.db, context.chatId, cron.routine_id));
      // started directly: a trigger of the schedule would not carry our id, so a retried call would start two runs
      if (!routine) return await noSuchCron(context, args.cron);
      const problem = routine.automation ? null : problemOfRun(routine, lookup, cron.inputs);
      if (problem) return { ok: false, output: `${problem} Change what the cron gives with cron_update.` };
      return await startRun(context, routine, { cronId: cron.id });
    },
  }),
  defineTool({
    ...common,
    name: 'cron_delete',
    family: 'routines',
    reads: [],
    sends: ['schedule'],
    description: 'Delete a cron; its workflow stays.',
    danger: 'MODERATE',
    ...ofAnyChat,
    schema: z.strictObject({ cron: nameOrId, chat: chatArgument }),
    notARoutineStep: true,
    inQuestion: ['cron'],
    asks: (args, _, say) => say('ask.deleteSchedule', { name: named(args.cron) }),
    run: async (args, here) => {
      const context = await inChat(here, args.chat);
      if (typeof context === 'string') return { ok: false, output: context };
      const cron = await findCron(context.db, context.chatId, args.cron);
      if (!cron) return await noSuchCron(context, args.cron);
      await deleteSchedule(context.temporal, cron.id);
      await deleteCron(context.db, cron.id);
      return { ok: true, output: `The schedule "${cron.name}" is gone.`, metadata: { id: cron.id } };
    },
  }),
];
