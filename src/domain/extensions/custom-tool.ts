import { z } from 'zod';
import type { Danger } from '../../contracts/conversation.ts';
import { egressHost } from '../settings/shapes.ts';
import { visible } from '../text/evidence.ts';
import { inline } from '../text/foreign-text.ts';
import type { DeclaredTool } from './mcp-declaration.ts';

/** A tool of the owner's own: a JSON file with a command, which runs in a container of the workspace. */
export interface CustomTool {
  kind: 'tool';
  name: string;
  /** with placeholders `{{name}}` */
  command: string;
  /** relative to the workspace */
  cwd: string;
  hosts: string[];
  /** defaults of optional parameters */
  defaults: Record<string, string>;
  timeoutMs: number;
  tools: DeclaredTool[];
}

const DANGERS: Record<string, Danger> = { safe: 'SAFE', moderate: 'MODERATE', dangerous: 'DANGEROUS' };

const parameter = z.object({
  name: z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,39}$/, 'must be letters, digits and underscores'),
  type: z.enum(['string', 'number', 'boolean']).default('string'),
  description: z.string().max(300).default(''),
  required: z.boolean().default(false),
  default: z.union([z.string().max(1_000), z.number(), z.boolean()]).optional(),
});

const file = z.object({
  name: z
    .string()
    .regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,39}$/, 'must be letters, digits, hyphens and underscores, at most 40'),
  description: z.string().trim().min(1).max(1_000),
  command: z.string().trim().min(1).max(4_000),
  cwd: z.string().max(400).default('.'),
  danger: z.string().toLowerCase().default('dangerous'),
  hosts: z
    .array(z.string().refine((host) => egressHost(host) === null, 'must be a host such as example.com'))
    .max(50)
    .default([]),
  timeoutSeconds: z.number().min(1).max(1_800).default(120),
  parameters: z.array(parameter).max(30).default([]),
});

/** Reads a file of `tools`. A string is what is wrong with it. */
export function parseCustomTool(text: string): CustomTool | string {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    return `It is not valid JSON: ${inline((error as Error).message)}.`;
  }
  const parsed = file.safeParse(raw);
  if (!parsed.success) return inline(z.prettifyError(parsed.error), 500);
  const { name, description, command, cwd, hosts, timeoutSeconds, parameters } = parsed.data;
  const danger = DANGERS[parsed.data.danger];
  if (!danger) return 'Its danger must be SAFE, MODERATE or DANGEROUS.';
  const names = parameters.map((each) => each.name);
  if (new Set(names).size < names.length) return 'Two of its parameters have one name.';
  const unknown = placeholders(command).find((each) => !names.includes(each));
  if (unknown !== undefined) return `Its command has {{${unknown}}}, and no parameter has this name.`;
  if (names.length > 0 && INNER_SHELL.test(command))
    return 'Its command starts another shell or eval, which would read arguments as commands. Put that into a script of the workspace.';
  const properties = parameters.map(
    (each) =>
      [each.name, { type: each.type, ...(each.description && { description: inline(each.description) }) }] as const,
  );
  const required = parameters.filter((each) => each.required && each.default === undefined).map((each) => each.name);
  return {
    kind: 'tool',
    name,
    command,
    cwd,
    hosts,
    defaults: Object.fromEntries(
      parameters.flatMap((each) => (each.default === undefined ? [] : [[each.name, String(each.default)]])),
    ),
    timeoutMs: timeoutSeconds * 1000,
    tools: [
      {
        name: `tool_${name}`,
        of: name,
        description: inline(description, 1_000),
        parameters: {
          type: 'object',
          properties: Object.fromEntries(properties),
          ...(required.length > 0 && { required }),
          additionalProperties: false,
        },
        danger,
        effect: 'once',
      },
    ],
  };
}

const INNER_SHELL = /\b(?:sh|bash|dash|zsh|ksh) -[a-z]{0,9}c\b|\beval\b/;

const PLACEHOLDER = /\{\{\s{0,9}([a-zA-Z_][a-zA-Z0-9_]{0,39})\s{0,9}\}\}/g;
const placeholders = (command: string): string[] => [...command.matchAll(PLACEHOLDER)].map(([, name]) => name!);

/**
 * The command as a shell gets it, with its variables. A placeholder becomes a variable and never text of the command,
 * so that no argument can be read as a command, however the author of the file quoted it.
 */
export function commandOf(
  { command, defaults }: CustomTool,
  args: Record<string, unknown>,
): { line: string; env: Record<string, string> } {
  const values = {
    ...defaults,
    ...Object.fromEntries(Object.entries(args).map(([name, value]) => [name, String(value)])),
  };
  const env = Object.fromEntries(placeholders(command).map((name) => [`FETCH_ARG_${name}`, values[name] ?? '']));
  return { line: command.replace(PLACEHOLDER, (_, name: string) => `"$FETCH_ARG_${name}"`), env };
}

/** Everything that a person agrees to. */
export function customToolText({ command, cwd, defaults, hosts, tools: [tool], timeoutMs }: CustomTool): string {
  return [
    `${tool!.danger}: ${visible(tool!.description)}`,
    'It runs this in a container of the active workspace:',
    ...visible(command)
      .split('\n')
      .map((line) => `  │ ${line}`),
    ...(cwd === '.' ? [] : [`in the folder ${visible(cwd)}`]),
    hosts.length > 0 ? `It may reach ${hosts.join(', ')}.` : 'It reaches no host.',
    `It is stopped after ${Math.round(timeoutMs / 1000)} s.`,
    ...Object.keys(tool!.parameters.properties as object).map(
      (name) =>
        `It gets ${name}${(tool!.parameters.required as string[] | undefined)?.includes(name) ? '' : `, or ${orElse(defaults[name])}`}.`,
    ),
  ].join('\n');
}

const orElse = (value: string | undefined): string =>
  value === undefined ? 'nothing' : visible(JSON.stringify(value));
