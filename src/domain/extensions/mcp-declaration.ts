import type { Danger, Effect } from '../../contracts/conversation.ts';
import { visible } from '../text/evidence.ts';
import { inline } from '../text/foreign-text.ts';
import type { McpServer } from './mcp-config.ts';
import { plainSchema, RefusedDeclaration } from './tool-schema.ts';

/** The declared tools of a server, made fit to be shown to a person and a model. */

export const MOST_TOOLS = 64;
/** Of all declarations of one server, in characters. Every request of every turn would carry more. */
const MOST_TEXT = 24_000;
const LONGEST_DESCRIPTION = 1_000;
/** Providers take no longer name. */
const LONGEST_NAME = 64;

export interface DeclaredTool {
  /** as the model calls it */
  name: string;
  /** as its server knows it */
  of: string;
  description: string;
  parameters: Record<string, unknown>;
  danger: Danger;
  effect: Effect;
}

/** The subject of an agreement: all of it is shown, and another one needs another yes. */
export interface McpDeclaration {
  kind: 'mcp';
  server: McpServer;
  tools: DeclaredTool[];
  /** tools that are not offered, and why */
  refused: Array<{ of: string; why: string }>;
}

/** A tool in the list of its server. Nothing about it is known to be right. */
export interface ListedTool {
  name: string;
  description?: string | undefined;
  inputSchema?: unknown;
  annotations?: { destructiveHint?: boolean | undefined } | undefined;
}

export function declarationOf(server: McpServer, listed: readonly ListedTool[]): McpDeclaration {
  const made: McpDeclaration = { kind: 'mcp', server, tools: [], refused: [] };
  const refuse = (of: string, why: string): void => {
    if (made.refused.length < MOST_TOOLS) made.refused.push({ of: inline(of, 80), why });
  };
  let room = MOST_TEXT;
  // whatever order a server lists them in, the model reads them in this one
  for (const tool of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name: of } = tool;
    if (server.tools[of]?.disabled) continue;
    try {
      const declared = declare(server, tool);
      room -= declared.description.length + JSON.stringify(declared.parameters).length;
      if (made.tools.some(({ name }) => name === declared.name)) refuse(of, 'Another tool has this name.');
      else if (made.tools.length >= MOST_TOOLS) refuse(of, `At most ${MOST_TOOLS} tools of a server are used.`);
      else if (room < 0)
        refuse(of, 'The descriptions of this server are too long. Switch tools off that you do not need.');
      else made.tools.push(declared);
    } catch (error) {
      if (!(error instanceof RefusedDeclaration)) throw error;
      refuse(of, error.message);
    }
  }
  return made;
}

function declare(server: McpServer, { name: of, description, inputSchema, annotations }: ListedTool): DeclaredTool {
  const rule = server.tools[of];
  const name = `mcp_${server.name}_${of}`;
  if (!/^[a-zA-Z0-9_-]+$/.test(of))
    throw new RefusedDeclaration('Its name has other characters than letters, digits, hyphens and underscores.');
  if (name.length > LONGEST_NAME)
    throw new RefusedDeclaration(`Its name ${name} is longer than ${LONGEST_NAME} characters.`);
  // a server may say that a tool of its own destroys; that it does no harm is for the owner to say
  const danger = rule?.danger ?? (annotations?.destructiveHint === true ? 'DANGEROUS' : server.danger);
  return {
    name,
    of,
    description: inline(description ?? '', LONGEST_DESCRIPTION),
    parameters: plainSchema(inputSchema),
    danger,
    effect: rule?.idempotent ? 'idempotent' : 'once',
  };
}

/** A task asks before it uses what is MODERATE. `ask_human` is how agents ask the person, and needs no permission. */
export const offeredToAgents = ({ server, tools }: McpDeclaration): DeclaredTool[] =>
  server.agents ? tools.filter(({ danger, of }) => danger !== 'DANGEROUS' && of !== 'ask_human') : [];

/**
 * Everything that a person agrees to. Words of the server stand behind a margin, so that none of them looks like ours.
 */
export function declarationText(declaration: McpDeclaration): string {
  const { server, tools, refused } = declaration;
  const forAgents = (danger: Danger) =>
    offeredToAgents(declaration)
      .filter((tool) => tool.danger === danger)
      .map(({ of }) => of)
      .join(', ');
  const [free, asked] = [forAgents('SAFE'), forAgents('MODERATE')];
  const agents = [
    ...(free ? [`Coding agents may use these without a question, in every task: ${free}.`] : []),
    ...(asked
      ? [`Coding agents may use these after a question, which says yes to one tool and not to one call: ${asked}.`]
      : []),
  ];
  const lines = [
    ...reachLines(server),
    ...agents,
    `${tools.length === 0 ? 'It offers no tool that can be used' : 'Its tools, with its own words about them'}:`,
  ];
  for (const { of, description, parameters, danger, effect } of tools) {
    lines.push(
      `- ${of} (${danger}${effect === 'idempotent' ? ', may be repeated' : ''})`,
      ...quoted(description),
      ...parameterLines(parameters),
    );
  }
  if (refused.length > 0) lines.push('Not offered:', ...refused.map(({ of, why }) => `- ${visible(of)}: ${why}`));
  return lines.join('\n');
}

function reachLines({ reach }: McpServer): string[] {
  if (reach.over === 'http') {
    return [
      `It is reached at ${visible(reach.url)}.`,
      ...(reach.headers.length > 0 ? [`It gets the headers ${visible(reach.headers.join(', '))}.`] : []),
      ...(reach.oauth?.issuer ? [`Its login is at ${visible(reach.oauth.issuer)}.`] : []),
    ];
  }
  return [
    `It runs in a container: ${visible([reach.command, ...reach.args].join(' '))}`,
    ...(reach.cwd ? [`It reads the folder ${visible(reach.cwd)}.`] : []),
    ...(reach.env.length > 0 ? [`It gets the variables ${visible(reach.env.join(', '))}.`] : []),
    reach.hosts.length > 0 ? `It may reach ${reach.hosts.join(', ')}.` : 'It reaches no host.',
  ];
}

const quoted = (text: string): string[] => (text === '' ? [] : [`  │ ${visible(text)}`]);

/** Names, options and descriptions of arguments are words of the server, too, and the model reads them. */
const parameterLines = (parameters: Record<string, unknown>): string[] =>
  Object.entries(parameters.properties as Record<string, unknown>).map(
    ([name, schema]) => `  │ ${name}: ${visible(compact(schema))}`,
  );

function compact(schema: unknown): string {
  const { type, description, ...rest } = schema as { type?: unknown; description?: string };
  const more = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : '';
  return `${type === undefined ? 'any' : Array.isArray(type) ? type.join(' or ') : String(type)}${more}${description ? `, ${description}` : ''}`;
}
