import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Kennel } from '../../adapters/kennel/kennel.ts';
import { connectTo, readMcpConfig } from '../../adapters/mcp/configured.ts';
import type { Config } from '../../config.ts';
import type { ConfiguredServer } from '../../domain/extensions/mcp-config.ts';
import { declarationOf } from '../../domain/extensions/mcp-declaration.ts';
import type { Say } from '../../domain/texts/say.ts';
import { findExtension, forgetOthers, noteFound, noteProblem } from '../../store/owner/extensions.ts';
import type { Db } from '../../store/postgres/database.ts';
import { tellScreens } from '../../store/turns/notices.ts';

export interface FindDeps {
  db: Db;
  config: Config;
  log: Logger;
  /**
   * the containers of this host, where this process has some: it looks at the servers over stdio then, and at no other
   */
  kennel?: Kennel;
}

const CONNECT_MS = 120_000;

/**
 * Asks each configured server what it offers, and stores it. What is new waits for the owner, who is told once. False
 * when one did not answer.
 */
export async function findServers(deps: FindDeps, signal: AbortSignal): Promise<boolean> {
  const { db, config, kennel } = deps;
  const { servers, problems } = await readMcpConfig(config);
  if (!kennel) {
    await forgetOthers(db, 'mcp', [...servers.map(({ server }) => server.name), ...problems.map(({ name }) => name)]);
    for (const { name, problem } of problems) await noteProblem(db, 'mcp', name, problem);
  }
  const mine = servers.filter(({ server }) => (server.reach.over === 'stdio') === (kennel !== undefined));
  const answered = await Promise.all(mine.map((each) => findServer(deps, each, signal)));
  return !answered.includes(false);
}

export async function findServer(
  { db, config, log, kennel }: FindDeps,
  configured: ConfiguredServer,
  stop: AbortSignal,
): Promise<boolean> {
  const { name } = configured.server;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(CONNECT_MS)]);
  try {
    const session = await connectTo(configured, { kennel, logins: { db, config } }, signal);
    const listed = await session.tools(signal).finally(session.close);
    const declaration = declarationOf(configured.server, listed);
    const { hash, isNew } = await noteFound(db, declaration);
    if (!isNew) return true;
    log.info({ server: name, tools: declaration.tools.length }, 'an MCP server offers what nobody has agreed to yet');
    const count = declaration.tools.length;
    const text = (say: Say) => say('tools.newServer', { what: say('tools.mcp', { name }), count, name });
    await tellScreens(db, `ext-${hash.slice(0, 16)}`, text, true);
    return true;
  } catch (error) {
    if (stop.aborted) return false;
    const { message } = error as Error;
    log.warn({ server: name, error: message }, 'an MCP server could not be asked what it offers');
    // a server that is away for a while stays; one that was configured otherwise does not
    const known = (await findExtension(db, name))?.declaration;
    const keeps =
      known?.kind === 'mcp' && isDeepStrictEqual(known.server, JSON.parse(JSON.stringify(configured.server)));
    await noteProblem(db, 'mcp', name, message.slice(0, 1_000), keeps);
    return false;
  }
}
