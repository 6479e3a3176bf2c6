import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type CallToolResult, CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { UserError } from '../../contracts/user-error.ts';
import { type ListedTool, MOST_TOOLS } from '../../domain/extensions/mcp-declaration.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { prefix, storableJson, storableText, suffix } from '../../domain/text/storable.ts';
import { VERSION } from '../../installation.ts';

/** One connection with an MCP server. Nothing that the server says or does can cost more than an error. */

/** A server cannot be used; `message` is for people and for the model. */
export class McpError extends UserError {
  override readonly name: string = 'McpError';
}

/** The owner must log in, which nobody else can do. `why`: a sentence, or nothing when there never was a login. */
export class NeedsLogin extends McpError {
  readonly why: string;

  constructor(server: string, why = '') {
    super(
      `The MCP server ${server} needs a login.${why && ` ${why}`} The owner runs this on the machine of Fetch: fetch mcp login ${server}`,
    );
    this.why = why;
  }
}

const CONNECT_MS = 30_000;
const MOST_PAGES = 20;

/** A transport that says when it broke, because the SDK waits for an answer that can no longer come. */
export interface WatchedTransport {
  transport: Transport;
  /** rejects with the reason, and never resolves */
  broken: Promise<never>;
  hide: Hide;
}

export interface McpSession {
  tools(signal: AbortSignal): Promise<ListedTool[]>;
  call(
    tool: string,
    args: Record<string, unknown>,
    options: { signal: AbortSignal; timeoutMs: number },
  ): Promise<McpResult>;
  close(): Promise<void>;
}

/** Takes secrets out of what a server says. */
type Hide = (text: string) => string;

/** Begins a session. It offers the server nothing: no model, no questions to the person, no files. @throws McpError */
export async function openMcpSession(
  server: string,
  { transport, broken, hide }: WatchedTransport,
  signal: AbortSignal,
): Promise<McpSession> {
  // awaited with each request
  broken.catch(() => {});
  const client = new Client({ name: 'fetch-durable', version: VERSION }, { capabilities: {} });
  // what a server sends without being asked is of no interest, and must not end the process
  client.onerror = () => {};
  const asked = async <T>(what: string, request: Promise<T>): Promise<T> => {
    try {
      return await Promise.race([request, broken]);
    } catch (error) {
      request.catch(() => {});
      if (signal.aborted) throw error;
      throw error instanceof McpError
        ? error
        : new McpError(`The MCP server ${server} ${what}: ${inline(hide((error as Error).message), 300)}`);
    }
  };
  const close = () => client.close().catch(() => {});
  try {
    await asked('cannot be reached', client.connect(transport, { timeout: CONNECT_MS, signal }));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    async tools(within) {
      const found = new Map<string, ListedTool>();
      const read = new Set<string>();
      let cursor: string | undefined;
      // not `listTools`, which compiles the schemas of the server into code
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const listed = await asked(
          'does not say what it offers',
          client.request({ method: 'tools/list', params }, ListToolsResultSchema, {
            timeout: CONNECT_MS,
            signal: within,
          }),
        );
        for (const tool of listed.tools) if (!found.has(tool.name)) found.set(tool.name, tool);
        cursor = listed.nextCursor;
        // a server that repeats a cursor would give the same pages again
        if (cursor === undefined || read.has(cursor) || found.size > MOST_TOOLS * 4) break;
        read.add(cursor);
      }
      return [...found.values()];
    },
    async call(name, args, { signal: within, timeoutMs }) {
      const request = client.request(
        { method: 'tools/call', params: { name, arguments: args } },
        CallToolResultSchema,
        { timeout: timeoutMs, signal: within },
      );
      const { text, ...result } = resultOf(await asked('did not answer the call', request));
      return { ...result, text: hide(text) };
    },
    close,
  };
}

/** A shorter one may be a word of any text. */
const SHORTEST = 12;

/** Takes these secrets out of a text: servers repeat in errors and results what they were sent. */
export const hiding =
  (secrets: () => Iterable<string>): Hide =>
  (text) =>
    [...secrets()]
      // `Bearer TOKEN` is often repeated without its first word
      .flatMap((secret) => [secret, secret.slice(secret.indexOf(' ') + 1)])
      .filter(({ length }) => length >= SHORTEST)
      .reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text);

/** The result of a call, as text. */
export interface McpResult {
  ok: boolean;
  text: string;
  /** something in the middle was left out */
  cut: boolean;
}

/** Of a result, in characters: half from the beginning, half from the end. */
const MOST_TEXT = 100_000;

function resultOf({ content, structuredContent, isError }: CallToolResult): McpResult {
  const parts = content.map(partText);
  // a server that gives both gives the same in both
  if (!content.some(({ type }) => type === 'text') && structuredContent !== undefined)
    parts.push(JSON.stringify(JSON.parse(storableJson(structuredContent)), null, 1));
  const whole = storableText(parts.join('\n\n').trim()) || '(nothing)';
  const left = whole.length - MOST_TEXT;
  const text =
    left > 0
      ? `${prefix(whole, MOST_TEXT / 2)}\n… ${left} characters left out …\n${suffix(whole, MOST_TEXT / 2)}`
      : whole;
  return { ok: isError !== true, text, cut: left > 0 };
}

function partText(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'resource_link':
      return `[${inline(part.name, 100)}: ${inline(part.uri, 500)}]`;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[file ${inline(part.resource.uri, 500)}, not shown]`;
    default:
      return `[${part.type} ${inline(part.mimeType, 60)}, ${Math.ceil((part.data.length * 3) / 4 / 1024)} KB, not shown]`;
  }
}
