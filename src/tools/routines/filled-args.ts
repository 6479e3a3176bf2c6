import type { z } from 'zod';
import { fillInputs, hasInputs, type Inputs } from '../../domain/routine-inputs.ts';
import type { Tool } from '../tool.ts';

type Args = Record<string, unknown>;

/**
 * The arguments of a routine step with its inputs, as its tool takes them. A default is always written as text, so `50`
 * counts as a number where one is wanted.
 */
export function filledArgs(
  { schema }: Pick<Tool, 'schema'>,
  written: Args,
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
