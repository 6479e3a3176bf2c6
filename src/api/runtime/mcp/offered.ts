import type { CallToolResult, OfferedTool } from '../../../adapters/mcp/serving/protocol.ts';
import { currentCall } from '../../../domain/chat/former-tools.ts';
import { closedTo } from '../../../domain/consent/policy.ts';
import { contractToolOf, contractTools } from '../../../tools/contract-tools.ts';
import { declarationOf } from '../../../tools/declarations.ts';
import { tools } from '../../../tools/registry.ts';
import type { Tool } from '../../../tools/tool.ts';

/** FETCH_MCP_SERVER_TOOLS: what a program may call. */
type Offering = 'read' | 'all';

/** They need the person's own chat: its screen, its files, its settings. A program asks its person itself. */
const OF_A_CHAT: ReadonlySet<string> = new Set([
  'ask_user',
  'report_progress',
  'open_tools',
  'read_output',
  'preferences',
  'chats',
  'conversation_search',
]);
/** SAFE in a chat, and yet it ends something. */
const ENDS: ReadonlySet<string> = new Set(['app_control']);

/** How turns of programs may use tools. `plan` is what keeps a turn from changing anything. */
export const accessOf = (offering: Offering): { mode: string; allowShell: boolean } => ({
  mode: offering === 'all' ? 'agent' : 'plan',
  allowShell: offering === 'all',
});

/** Reads, and lets nothing out of this machine. */
const onlyReads = (tool: Tool): boolean =>
  closedTo(tool, accessOf('read')) === null &&
  tool.danger === 'SAFE' &&
  tool.sends.length === 0 &&
  !ENDS.has(tool.name);

const fits = (tool: Tool, offering: Offering): boolean => offering === 'all' || onlyReads(tool);
/** A tool that has the name of one of the contract is offered by that. */
const isOffered = (tool: Tool, offering: Offering): boolean =>
  !OF_A_CHAT.has(tool.name) && !contractToolOf(tool.name) && fits(tool, offering);

export const CHAT = 'deepseek';
export const CHAT_REPLY = 'deepseek-reply';
export const CALL_RESULT = 'call_result';

const text = (description: string) => ({ type: 'string' as const, description });

/** Tools that only programs have. The first two have the names of the contract. */
const OWN: OfferedTool[] = [
  {
    name: CHAT,
    title: 'Talk to Fetch',
    description:
      'Begin a conversation with Fetch, which works with its own model and tools. Returns what it says, and the id of the thread to go on with.',
    inputSchema: {
      type: 'object',
      properties: {
        prompt: text('What to say'),
        model: text('Model; the usual one when left out'),
        cwd: text('Folder that the conversation is about'),
      },
      required: ['prompt'],
    },
    annotations: { readOnlyHint: false, openWorldHint: true },
  },
  {
    name: CHAT_REPLY,
    title: 'Go on talking to Fetch',
    description: 'Say more in a conversation that was begun before.',
    inputSchema: {
      type: 'object',
      properties: {
        thread_id: text('The thread'),
        prompt: text('What to say'),
        model: text('Model; the usual one when left out'),
      },
      required: ['thread_id', 'prompt'],
    },
    annotations: { readOnlyHint: false, openWorldHint: true },
  },
  {
    name: CALL_RESULT,
    title: 'Result of a call that waited',
    description:
      'The result of an earlier call, by the turn_id that it gave; waits while the call runs. With cancel, the call is given up.',
    inputSchema: {
      type: 'object',
      properties: { turn_id: text('The turn'), cancel: { type: 'boolean', description: 'Give the call up' } },
      required: ['turn_id'],
    },
    annotations: { readOnlyHint: true, idempotentHint: true },
  },
];

/** The tools that a program may call, as it sees them. */
export const offeredTools = (offering: Offering): OfferedTool[] => [
  ...[...tools.values()].filter((tool) => isOffered(tool, offering)).map(offeredTool),
  ...[...contractTools()].flatMap(({ of, offered }) => {
    const tool = tools.get(of)!;
    return fits(tool, offering) ? [{ ...offered, annotations: annotationsOf(tool) }] : [];
  }),
  ...OWN,
];

function offeredTool(tool: Tool): OfferedTool {
  const { description, parameters } = declarationOf(tool);
  return {
    name: tool.name,
    description,
    inputSchema: parameters as OfferedTool['inputSchema'],
    annotations: annotationsOf(tool),
  };
}

const annotationsOf = (tool: Tool): NonNullable<OfferedTool['annotations']> => ({
  readOnlyHint: onlyReads(tool),
  destructiveHint: tool.danger === 'DANGEROUS',
  idempotentHint: tool.effect === 'idempotent',
  openWorldHint: tool.sends.length > 0,
});

/** Whether a program may call a tool; else what it is told, or null when there is no such tool. */
export function admitted(name: string, offering: Offering): true | CallToolResult | null {
  const ofContract = contractToolOf(name);
  const tool = tools.get(ofContract?.of ?? currentCall({ name, args: {} }).name);
  if (!tool || (!ofContract && OF_A_CHAT.has(tool.name))) return null;
  if (fits(tool, offering)) return true;
  const why = `${name} is not offered to programs: it changes or sends something. The owner can allow that with FETCH_MCP_SERVER_TOOLS=all.`;
  return { content: [{ type: 'text', text: why }], isError: true };
}
