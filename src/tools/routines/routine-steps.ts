import { z } from 'zod';
import type { Autonomy } from '../../contracts/conversation.ts';
import { type RoutineStep, STEP_WHEN } from '../../contracts/routine.ts';
import { decideUnattended } from '../../domain/consent/policy.ts';
import { hasInputs, type Inputs, inputsOf, missingInputs } from '../../domain/routine-inputs.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { untold } from '../declarations.ts';
import type { Tool } from '../tool.ts';
import { filledArgs } from './filled-args.ts';

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

/** What a run is given, as the model writes it. */
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
    const checked = checkStep(asObject(input), index, checking);
    if (typeof checked === 'string') problems.push(checked);
    else steps.push(checked);
  }
  return problems.length === 0 ? { ok: true, steps } : { ok: false, error: problems.join('\n') };
}

type StepObject = Exclude<WrittenStep, string>;

function asObject(input: WrittenStep): StepObject {
  if (typeof input !== 'string') return input;
  const [tool = '', ...name] = input.split('|').map((part) => part.trim());
  return { tool, name: name.join('|'), args: {}, when: 'ok', onFailure: 'stop' };
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
  if (tool.notARoutineStep) return `${at}: this tool cannot be a step of a workflow.`;
  if (decideUnattended(tool.danger, autonomy) === 'refuse')
    return `${at}: a ${tool.danger} tool needs the person's consent in this chat (autonomy: ${autonomy}), and nobody can be asked while a workflow runs.`;
  const written = inWorkspace(tool, step.args, workspace);
  const parsed = filledArgs(tool, written, {});
  if (!parsed.success && !waitsForInputs(parsed.error, written))
    return `${at}: the arguments are not right:\n${z.prettifyError(parsed.error)}`;
  if (parsed.success && tool.asksAlways?.(parsed.data as never))
    return `${at}: this needs the person's consent each time, and nobody can be asked while a workflow runs.`;
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
  if (missing.length > 0) return `Workflow "${name}" needs inputs: ${missing.join(', ')}.`;
  const known = inputsOf(steps.map(({ args }) => args));
  const unknown = Object.keys(inputs).find((input) => !known.has(input));
  if (unknown !== undefined)
    return `Workflow "${name}" has no input ${JSON.stringify(unknown.slice(0, 40))}.${suggestion(unknown, known.keys())}`;
  const problems = steps.flatMap(({ tool, args }, index) => {
    const used = hasInputs(args) ? lookup(tool) : undefined;
    const parsed = used && filledArgs(used, args, inputs);
    return parsed && !parsed.success
      ? [`Step ${index + 1} (${tool}): the arguments are not right:\n${z.prettifyError(parsed.error)}`]
      : [];
  });
  return problems.length === 0 ? null : problems.join('\n');
}
