import { z } from 'zod';
import { tools } from '../../src/tools/registry.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { table } from './page.ts';

/** docs/tools.md: every tool as it is declared, with the limits that its schema checks. */

/** An argument in the JSON Schema of a tool. */
interface Argument {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Argument;
  anyOf?: Argument[];
  properties?: Record<string, Argument>;
  required?: string[];
}

const HEAD = `# Tools

<!-- Written by "npm run docs" from the declarations in src/tools. Do not edit. -->

What the model may call. Tools come in families. Every chat has the family \`core\`. The model opens another one with \`open_tools\`, or calls one of its tools by name. A family also opens by itself: by a word
of the person ("pull request", "screenshot", "every morning"), or by the state of the chat (a repository on GitHub, a task that runs). It stays open until \`/new\`. A group or a thread may have fewer tools.
Unknown arguments are refused, and a call outside of the limits comes back with the reason. [security.md](security.md) says what danger, reading and sending mean for a call. A person can ask for any of it in words.

| word | means |
|---|---|
| idempotent | runs again after a crash, with the same result |
| reattachable | is found again after a crash and followed to its end |
| once | never runs a second time; after a crash its outcome is reported as unknown |
`;

export function toolsPage(): string {
  const all = [...tools.values()];
  const list = table(
    ['tool', 'family', 'danger', 'effect', 'runs in', 'reads', 'sends'],
    all.map((tool) => [
      `[\`${tool.name}\`](#${tool.name})`,
      tool.family,
      dangerText(tool),
      tool.effect,
      tool.runsIn === 'kennel' ? 'the kennel' : 'a worker',
      tool.reads.map((source) => `\`${source}\``).join(', '),
      tool.sends.map((sink) => `\`${sink}\``).join(', '),
    ]),
  );
  return `${HEAD}\n${list}\n\n${all.map(section).join('\n\n')}\n`;
}

function section(tool: Tool): string {
  const facts = [
    ...(tool.needsShell ? ['It needs the shell.'] : []),
    ...(tool.notARoutineStep ? ['It cannot be a step of a workflow.'] : []),
  ];
  return [`## ${tool.name}`, [tool.description, ...facts].join(' '), argumentsTable(tool)].join('\n\n');
}

/** Some calls of a tool can be more dangerous than others. */
const dangerText = (tool: Tool): string => {
  const [byArguments, always] = [
    tool.dangerOf ? ', more with some arguments' : '',
    tool.asksAlways ? ', may ask each time' : '',
  ];
  return `${tool.danger}${byArguments}${always}`;
};

function argumentsTable(tool: Tool): string {
  const schema = z.toJSONSchema(tool.schema, { io: 'input', unrepresentable: 'any' }) as Argument;
  const rows = Object.entries(schema.properties ?? {}).map(([name, argument]) => [
    `\`${name}\``,
    schema.required?.includes(name) ? 'yes' : '',
    typeOf(argument),
    argument.default === undefined || argument.default === '' ? '' : `\`${JSON.stringify(argument.default)}\``,
    argument.description ?? '',
  ]);
  return rows.length === 0
    ? 'It has no arguments.'
    : table(['argument', 'required', 'type and limits', 'default', 'meaning'], rows);
}

/** `string, 1 to 500 characters` */
function typeOf(argument: Argument): string {
  if (argument.enum) return argument.enum.map((value) => `\`${value}\``).join(', ');
  if (argument.anyOf) return argument.anyOf.map(typeOf).join('; or ');
  if (argument.type === 'object' && argument.properties)
    return `object (${Object.entries(argument.properties)
      .map(([name, each]) => `\`${name}\`${argument.required?.includes(name) ? '' : '?'}: ${typeOf(each)}`)
      .join('; ')})`;
  const limits = [
    between(argument.minLength, argument.maxLength, ' characters'),
    between(argument.minimum, argument.maximum, ''),
    between(argument.minItems, argument.maxItems, ' items'),
    argument.pattern && `\`${argument.pattern}\``,
  ];
  const each = argument.items ? [`each ${typeOf(argument.items)}`] : [];
  return [argument.type ?? 'any', ...limits.filter(Boolean), ...each].join(', ');
}

/** Numbers at the limit of what JavaScript counts are no limit. */
function between(low: number | undefined, high: number | undefined, unit: string): string {
  const [from, to] = [
    low === Number.MIN_SAFE_INTEGER ? undefined : low,
    high === Number.MAX_SAFE_INTEGER ? undefined : high,
  ];
  if (from !== undefined && to !== undefined) return `${from} to ${to}${unit}`;
  if (to !== undefined) return `at most ${to}${unit}`;
  return from === undefined ? '' : `at least ${from}${unit}`;
}
