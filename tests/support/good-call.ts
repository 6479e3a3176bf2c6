import { z } from 'zod';
import type { Tool } from '../../src/tools/tool.ts';

/** A call that a tool accepts, made from its declaration, so that tests over all tools hold for a new one, too. */

type Part = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Part[];
  properties?: Record<string, Part>;
  required?: string[];
  items?: Part;
  minimum?: number;
  minLength?: number;
  minItems?: number;
  maxLength?: number;
  maxItems?: number;
  maximum?: number;
};

/** Values of arguments whose declaration does not say everything. */
const KNOWN: Record<string, unknown> = {
  url: 'https://example.com/',
  path: 'a.txt',
  from: 'https://example.com/a/b.git',
  steps: ['workflow_list'],
  schedule: '0 3 * * *',
  timezone: 'UTC',
  timeZone: 'UTC',
  command: 'npm test',
  repo: 'a/b',
  quietHours: '22:00-07:00',
  language: 'German',
  task: 'tsk_1234567890',
};
/** Where one name means several things. */
const OF_TOOL: Record<string, Record<string, unknown>> = {
  browser_action: { action: 'scroll_down' },
  file_read: { from: 1 },
  github_branch_create: { from: 'main' },
  git_branch: { name: 'feature' },
};

export const declaredOf = (tool: Tool): Part =>
  z.toJSONSchema(tool.schema, { io: 'input', unrepresentable: 'any' }) as Part;

/** One value that the declaration of an argument accepts. */
export function goodValue(tool: string, name: string, part: Part): unknown {
  const known = OF_TOOL[tool]?.[name] ?? KNOWN[name];
  if (known !== undefined) return known;
  if (part.const !== undefined) return part.const;
  if (part.enum) return part.enum[0];
  if (part.anyOf) return goodValue(tool, name, part.anyOf[0]!);
  const type = Array.isArray(part.type) ? part.type[0] : part.type;
  if (type === 'string') return 'x'.repeat(Math.max(1, part.minLength ?? 0));
  if (type === 'integer' || type === 'number') return Math.max(1, part.minimum ?? 1);
  if (type === 'boolean') return true;
  if (type === 'array')
    return Array.from({ length: Math.max(1, part.minItems ?? 0) }, () =>
      goodValue(tool, '', part.items ?? { type: 'string' }),
    );
  return {};
}

/** The smallest call. */
export function goodCall(tool: Tool): Record<string, unknown> {
  const { properties = {}, required = [] } = declaredOf(tool);
  return Object.fromEntries(required.map((name) => [name, goodValue(tool.name, name, properties[name]!)]));
}
