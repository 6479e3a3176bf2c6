import { isDeepStrictEqual } from 'node:util';
import type { McpServer } from '../../domain/extensions/mcp-config.ts';
import { type DeclaredTool, declarationOf } from '../../domain/extensions/mcp-declaration.ts';
import { isAgreed, noteFound, noteProblem } from '../../store/owner/extensions.ts';
import type { Db } from '../../store/postgres/database.ts';
import type { Kennel } from '../kennel/kennel.ts';
import { configuredServer, connectTo, type LoginPlace, type McpPlace } from './configured.ts';
import { McpError, type McpResult, type McpSession, NeedsLogin } from './session.ts';

/** What a process has to call a server with. */
export interface CallAccess {
  db: Db;
  config: McpPlace & LoginPlace;
  kennel?: Kennel | undefined;
}

/** A tool of the version that the owner agreed to. */
export interface AgreedTool {
  hash: string;
  server: McpServer;
  declared: DeclaredTool;
}

/** `called` false: nothing was called, or nobody knows; `text` says which. */
type CallResult = McpResult & { called: boolean };

/**
 * Calls a tool, if its server offers it exactly as the owner agreed to it. A failure that can be expected is a result.
 */
export async function callAgreed(
  { db, config, kennel }: CallAccess,
  tool: AgreedTool,
  args: Record<string, unknown>,
  signal: AbortSignal,
): Promise<CallResult> {
  const { hash, server, declared } = tool;
  const failed = (text: string): CallResult => ({ ok: false, text, cut: false, called: false });
  if (!(await isAgreed(db, hash)))
    return failed(`The owner does not agree to the MCP server ${server.name} any more. Nothing was called.`);
  let session: McpSession | null = null;
  try {
    const configured = await configuredServer(config, server.name);
    session = await connectTo(configured, { kennel, logins: { db, config } }, signal);
    const now = declarationOf(configured.server, await session.tools(signal));
    const same =
      isDeepStrictEqual(stored(configured.server), stored(server)) &&
      now.tools.some((each) => isDeepStrictEqual(stored(each), stored(declared)));
    if (!same) {
      await noteFound(db, now);
      return failed(
        `The MCP server ${server.name} does not offer ${declared.of} as the owner agreed to it. Nothing was called. The owner sees what changed with \`tools show ${server.name}\`, and decides.`,
      );
    }
    return { ...(await session.call(declared.of, args, { signal, timeoutMs: server.timeoutMs })), called: true };
  } catch (error) {
    if (!(error instanceof McpError) || signal.aborted) throw error;
    if (error instanceof NeedsLogin) await noteProblem(db, 'mcp', server.name, error.message, true);
    const unknown = session && declared.effect === 'once' ? ' Whether the call had an effect is unknown.' : '';
    return failed(`${error.message}${unknown}`);
  } finally {
    await session?.close();
  }
}

/** As it comes back from the database: without fields that are undefined. */
const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
