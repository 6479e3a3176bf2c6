import { z } from 'zod';
import type { Autonomy } from '../../contracts/conversation.ts';
import { PROMPT_STEP, type RoutineStep, STEP_WHEN } from '../../contracts/routine.ts';
import { decideUnattended } from '../../domain/consent/policy.ts';
import { nextFirings } from '../../domain/cron.ts';
import { estimateText } from '../../domain/model/spending.ts';
import { fillInputs, hasInputs, type Inputs, inputsOf, missingInputs } from '../../domain/routine-inputs.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { DAY } from '../../domain/time.ts';
import type { Db } from '../../store/postgres/database.ts';
import { costOfRuns, usualCost } from '../../store/routines/runs.ts';
import { untold } from '../declarations.ts';
import type { Tool } from '../tool.ts';

export const routineStep = z.union([
  z.string().trim().min(1).max(160).meta(untold('tool or tool|Step name, without arguments')),
  z.strictObject({
    tool: z
      .string()
      .max(80)
      .regex(/^[a-z0-9_]+$/),
    name: z.string().trim().min(1).max(80).optional(),
    args: z.record(z.string(), z.unknown()).default({}),
    when: z.enum(STEP_WHEN).default('ok').describe('How the steps before ended'),
    onFailure: z.enum(['stop', 'continue']).default('stop'),
  }),
]);
type WrittenStep = z.output<typeof routineStep>;

/** The inputs of a run, as the model writes them. */
export const givenInputs = z
  .record(
    z.string().max(40),
    z.union([z.string().max(2000), z.number().meta(untold('A number')), z.boolean().meta(untold('Yes or no'))]),
  )
  .optional();

export type Lookup = (name: string) => Tool | undefined;

interface Checking {
  lookup: Lookup;
  names: () => Iterable<string>;
  autonomy: Autonomy;
  /** the one that steps work in which name none */
  workspace?: string | undefined;
}

/** Checks routine steps as a run will. Returns them with their defaults filled in, or what is wrong, for the model. */
export function checkRoutineSteps(
  inputs: WrittenStep[],
  lookup: Lookup,
  names: () => Iterable<string>,
  autonomy: Autonomy,
  workspace?: string,
): { ok: true; steps: RoutineStep[] } | { ok: false; error: string } {
  const checking = { lookup, names, autonomy, workspace };
  const steps: RoutineStep[] = [];
  const problems: string[] = [];
  for (const [index, input] of inputs.entries()) {
    const checked = checkStep(writtenStep(input), index, checking);
    if (typeof checked === 'string') problems.push(checked);
    else steps.push(checked);
  }
  return problems.length === 0 ? { ok: true, steps } : { ok: false, error: problems.join('\n') };
}

type StepObject = Exclude<WrittenStep, string>;

/** A routine step as an object, however the model wrote it. */
export function writtenStep(input: WrittenStep): StepObject {
  if (typeof input !== 'string') return input;
  const [tool = '', ...name] = input.split('|').map((part) => part.trim());
  return { tool, name: name.join('|'), args: {}, when: 'ok', onFailure: 'stop' };
}

type WrittenArgs = Record<string, unknown>;

/**
 * The arguments of a routine step with its inputs, as its tool takes them. A default is always written as text, so `50`
 * counts as a number where one is wanted.
 */
export function filledArgs(
  { schema }: Pick<Tool, 'schema'>,
  written: WrittenArgs,
  inputs: Inputs,
): z.ZodSafeParseResult<unknown> {
  const filled = fillInputs(written, inputs);
  const parsed = schema.safeParse(filled);
  if (parsed.success || !hasInputs(written)) return parsed;
  const typed = { ...filled };
  for (const { path, ...issue } of parsed.error.issues) {
    const [key] = path;
    const wanted =
      issue.code === 'invalid_type' && path.length === 1 && typeof key === 'string' ? issue.expected : null;
    if (wanted !== null) typed[key as string] = asTyped(typed[key as string], wanted);
  }
  return schema.safeParse(typed);
}

function asTyped(value: unknown, wanted: string): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  if (wanted === 'number' || wanted === 'int') return Number.isFinite(Number(value)) ? Number(value) : value;
  return wanted === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value;
}

/** The routine step as it is stored, or what is wrong with it. */
function checkStep(
  step: StepObject,
  index: number,
  { lookup, names, autonomy, workspace }: Checking,
): RoutineStep | string {
  const at = `Step ${index + 1} (${step.tool.slice(0, 80)})`;
  const tool = lookup(step.tool);
  if (!tool) return `${at}: there is no such tool.${suggestion(step.tool, names())}`;
  if (tool.notARoutineStep) return `${at}: this tool cannot be a step of a routine.`;
  if (decideUnattended(tool.danger, autonomy) === 'refuse')
    return `${at}: a ${tool.danger} tool needs the person's consent in this chat (autonomy: ${autonomy}), and nobody can be asked while a routine runs.`;
  const written = inWorkspace(tool, step.args, workspace);
  const parsed = filledArgs(tool, written, {});
  if (!parsed.success && !waitsForInputs(parsed.error, written))
    return `${at}: the arguments are not right:\n${z.prettifyError(parsed.error)}`;
  if (parsed.success && tool.asksAlways?.(parsed.data as never))
    return `${at}: this needs the person's consent each time, and nobody can be asked while a routine runs.`;
  return {
    name: (step.name || `step-${index + 1}`).slice(0, 80),
    tool: tool.name,
    // the places of inputs are stored as they were written
    args: hasInputs(written) || !parsed.success ? written : (parsed.data as Args),
    ...(step.when !== 'ok' && { when: step.when }),
    ...(step.onFailure === 'continue' && { onFailure: step.onFailure }),
  };
}

type Args = Record<string, unknown>;

/** With the workspace of the routine, where the tool takes one and the step names none. */
function inWorkspace({ schema }: Tool, args: Args, workspace: string | undefined): Args {
  const takesOne = schema instanceof z.ZodObject && 'workspace' in schema.shape;
  return workspace !== undefined && takesOne && args.workspace === undefined ? { ...args, workspace } : args;
}

/** Whether all that is wrong is where an input will be. It is checked when the run has its inputs. */
const waitsForInputs = ({ issues }: z.ZodError, args: Args): boolean =>
  issues.every(({ path: [key] }) => typeof key === 'string' && hasInputs(args[key]));

/** Why a routine cannot run with these inputs; null when it can. */
export function problemOfRun(
  { name, steps }: { name: string; steps: readonly RoutineStep[] },
  lookup: Lookup,
  inputs: Inputs,
): string | null {
  const missing = missingInputs(steps, inputs);
  if (missing.length > 0) return `The routine "${name}" needs inputs: ${missing.join(', ')}.`;
  const known = inputsOf(steps.map(({ args }) => args));
  const unknown = Object.keys(inputs).find((input) => !known.has(input));
  if (unknown !== undefined)
    return `The routine "${name}" has no input ${JSON.stringify(unknown.slice(0, 40))}.${suggestion(unknown, known.keys())}`;
  const problems = steps.flatMap(({ tool, args }, index) => {
    const used = hasInputs(args) ? lookup(tool) : undefined;
    const parsed = used && filledArgs(used, args, inputs);
    return parsed && !parsed.success
      ? [`Step ${index + 1} (${tool}): the arguments are not right:\n${z.prettifyError(parsed.error)}`]
      : [];
  });
  return problems.length === 0 ? null : problems.join('\n');
}

/** So many firings show how often a schedule fires in a day. */
const FIRINGS = 300;

/** Whether its runs may spend money or tokens. */
export const spends = (steps: readonly Pick<RoutineStep, 'tool'>[], lookup: Lookup): boolean =>
  steps.some(({ tool }) => tool === PROMPT_STEP || lookup(tool)?.startsTask === true);

/**
 * The estimated cost of a schedule, as a sentence: by the past runs of its routine, or by what a turn and a coding task
 * usually cost. Empty when it costs nothing, or nothing is known.
 */
export async function estimateOf(
  db: Db,
  {
    id,
    steps,
    schedule,
    timeZone,
  }: { id: string; steps: ReadonlyArray<Pick<RoutineStep, 'tool'>>; schedule: string; timeZone: string },
  lookup: Lookup,
): Promise<string> {
  if (!spends(steps, lookup)) return '';
  const run = (await costOfRuns(db, id)) ?? (await usualRun(db, steps, lookup));
  const now = new Date();
  const firings = nextFirings(schedule, timeZone, now, FIRINGS);
  const last = firings.at(-1);
  const perDay = last ? Math.max(1, firings.length) / Math.max(1, (last.getTime() - now.getTime()) / DAY) : 0;
  return run ? estimateText(run, perDay) : '';
}

async function usualRun(db: Db, steps: ReadonlyArray<Pick<RoutineStep, 'tool'>>, lookup: Lookup) {
  const sum = { tokens: 0, microUsd: 0, unpriced: 0 };
  for (const { tool } of steps) {
    if (!spends([{ tool }], lookup)) continue;
    const cost = await usualCost(db, tool === PROMPT_STEP ? 'turn' : 'task');
    if (!cost) return null;
    sum.tokens += cost.tokens;
    sum.microUsd += cost.microUsd;
    sum.unpriced += cost.unpriced;
  }
  return sum;
}
