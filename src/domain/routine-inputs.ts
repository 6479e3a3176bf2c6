import type { Source } from '../contracts/taint.ts';
import { inline } from './text/foreign-text.ts';

/**
 * Inputs of a routine: `{{input.NAME}}` or `{{input.NAME=default}}` in the texts of its arguments. Other braces stay as
 * they are.
 */

export type Inputs = Readonly<Record<string, string | number | boolean>>;

/** What a run is given, and whose text it is where no person was asked about it. */
export interface Given {
  inputs: Inputs;
  sources: readonly Source[];
}

const PLACE = /\{\{input\.([a-z][a-z0-9_]{0,39})(?:=([^{}]{0,500}))?\}\}/g;

type Args = Record<string, unknown>;

/** The texts in a value, however deep. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** Names of the inputs of these arguments, with the default of each. */
export function inputsOf(args: unknown): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>();
  for (const [, name = '', fallback] of textsOf(args).flatMap((text) => [...text.matchAll(PLACE)]))
    found.set(name, found.get(name) ?? fallback);
  return found;
}

/** Whether a value still has a place for an input. */
export const hasInputs = (value: unknown): boolean => inputsOf(value).size > 0;

/**
 * The arguments with their inputs filled in; a place without an input and a default stays. A text that is one place
 * takes over the input's type.
 */
export function fillInputs(args: Args, inputs: Inputs): Args {
  const given = (name: string) => (Object.hasOwn(inputs, name) ? inputs[name] : undefined);
  const filled = (text: string): unknown => {
    const [place, ...others] = text.matchAll(PLACE);
    if (place?.[0] === text && others.length === 0) return given(place[1]!) ?? place[2] ?? text;
    return text.replace(PLACE, (whole, name: string, fallback?: string) => String(given(name) ?? fallback ?? whole));
  };
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string') return filled(value);
    if (Array.isArray(value)) return value.map(fill);
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each)]))
      : value;
  };
  return fill(args) as Args;
}

/** Inputs that nobody has given and that have no default, by name: the database keeps no order of arguments. */
export const missingInputs = (steps: ReadonlyArray<{ args: Args }>, inputs: Inputs): string[] => {
  const places = inputsOf(steps.map(({ args }) => args));
  const missing = [...places].filter(([name, fallback]) => fallback === undefined && !Object.hasOwn(inputs, name));
  return missing.map(([name]) => name).sort();
};

/** What is given, as people read it: `branch = main, most = 50`. */
export const inputsText = (inputs: Inputs): string =>
  Object.entries(inputs)
    .map(([name, value]) => `${name} = ${inline(String(value), 60)}`)
    .join(', ');
