import { z } from 'zod';
import type { Autonomy } from '../../contracts/conversation.ts';
import type { RoutineStep } from '../../contracts/routine.ts';
import { decideUnattended } from '../../domain/consent/policy.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import type { Tool } from '../tool.ts';

export const routineStep = z.union([
  z.string().trim().min(1).max(160).describe('tool or tool|Step name, without arguments'),
  z.strictObject({
    tool: z
      .string()
      .max(80)
      .regex(/^[a-z0-9_]+$/),
    name: z.string().trim().min(1).max(80).optional(),
    args: z.record(z.string(), z.unknown()).default({}),
  }),
]);
type WrittenStep = z.output<typeof routineStep>;

export type Lookup = (name: string) => Tool | undefined;

/** Checks routine steps as a run will. Returns them with their defaults filled in, or what is wrong, for the model. */
export function checkRoutineSteps(
  inputs: WrittenStep[],
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
    if (tool.notARoutineStep) {
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
