import type { Kennel } from '../../../src/adapters/kennel/kennel.ts';
import { connectTo } from '../../../src/adapters/mcp/configured.ts';
import { parseMcpConfig } from '../../../src/domain/extensions/mcp-config.ts';
import { declarationOf } from '../../../src/domain/extensions/mcp-declaration.ts';
import { decideVersion, noteFound } from '../../../src/store/owner/extensions.ts';
import type { Db } from '../../../src/store/postgres/database.ts';

/** What a look at this server and the yes of its owner leave in the database; the hash of the version. */
export async function agreeTo(db: Db, name: string, entry: object, kennel?: Kennel): Promise<string> {
  const [configured] = parseMcpConfig(JSON.stringify({ mcpServers: { [name]: entry } })).servers;
  const signal = AbortSignal.timeout(60_000);
  const session = await connectTo(configured!, { kennel }, signal);
  const declaration = declarationOf(configured!.server, await session.tools(signal).finally(session.close));
  const { hash } = await noteFound(db, declaration);
  await db.transaction().execute((tx) => decideVersion(tx, hash, true, { role: 'owner' } as never));
  return hash;
}
