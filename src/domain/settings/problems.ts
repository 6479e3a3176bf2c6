import type { z } from 'zod';
import { inline } from '../text/foreign-text.ts';
import { isSecret, mayBeInFile } from './shapes.ts';

/** Sentences about settings with a value that they cannot have. */

/** Characters of a wrong value that are shown. */
const SHOWN = 60;
const MESSAGE_CHARS = 500;

type Issue = z.core.$ZodIssue;

/**
 * What is wrong with a value, and what to write instead: `must be a whole number from 1 to 65535, and not "abc"`. A
 * secret is not shown.
 */
export function problemOf(schema: z.ZodType, value: string, issues: readonly Issue[]): string {
  const expected = expectedOf(schema);
  const own = issues.filter(({ code }) => code === 'custom' || code === 'invalid_format');
  const told = expected && own.length === 0 ? [`must be ${expected}`] : issues.map(sentenceOf);
  const hidden = isSecret(schema) || mayBeInFile(schema) || told.some((text) => text.includes('"'));
  // the value can be anything, and messages of settings name it, too
  const shown = inline([...new Set(told)].join('; '), MESSAGE_CHARS);
  return `${shown}${hidden ? '' : `, and not "${inline(value, SHOWN)}"`}`;
}

function sentenceOf(issue: Issue): string {
  // the message of the setting, where it has one
  if (!/^Too (?:big|small): /.test(issue.message)) return issue.message;
  if (issue.code === 'too_big') return `must have at most ${issue.maximum} characters`;
  return issue.code === 'too_small' ? `must have at least ${issue.minimum} characters` : issue.message;
}

interface Check {
  _zod: { def: { check: string; value?: number; inclusive?: boolean; format?: string } };
}
interface Shape {
  def: {
    type: string;
    innerType?: { _zod: Shape };
    entries?: Record<string, string>;
    checks?: Check[];
  };
}

/** Null where the messages of the setting say it. */
function expectedOf(schema: z.ZodType): string | null {
  let shape: Shape | undefined = (schema as unknown as { _zod: Shape })._zod;
  while (shape.def.innerType) shape = shape.def.innerType._zod;
  if (shape.def.type === 'pipe') return 'yes or no (also true, false, on, off, 1, 0)';
  if (shape.def.type === 'enum') return `one of ${Object.values(shape.def.entries ?? {}).join(', ')}`;
  if (shape.def.type !== 'number') return null;
  const checks = (shape.def.checks ?? []).map(({ _zod }) => _zod.def);
  const whole = checks.some(({ check, format }) => check === 'number_format' && format === 'safeint');
  const least = checks.find(({ check }) => check === 'greater_than');
  const most = checks.find(({ check }) => check === 'less_than');
  const ends = [
    ...(least?.inclusive ? [`from ${least.value}`] : []),
    ...(least?.inclusive === false ? [whole ? `from ${least.value! + 1}` : `above ${least.value}`] : []),
    ...(most ? [`to ${most.value}`] : []),
  ];
  return [whole ? 'a whole number' : 'a number', ...ends].join(' ').replace(/(above \S+) to /, '$1 and up to ');
}
