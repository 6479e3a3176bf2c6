import { visibleLine } from '../domain/text/evidence.ts';

/** Shows the values of arguments in the question of an approval, with nothing hidden. */

export const shown = (value: unknown, max = 120): string => {
  const text = visibleLine(String(value ?? ''));
  return text.length > max ? `${text.slice(0, max)}…` : text;
};

export const named = (value: unknown): string => `"${shown(value, 80)}"`;

export const namedTask = (id: string | undefined): string => (id ? `the task ${shown(id)}` : 'the current task');
