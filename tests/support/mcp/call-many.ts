import { connectTo } from '../../../src/adapters/mcp/configured.ts';
import { parseMcpConfig } from '../../../src/domain/extensions/mcp-config.ts';
import { openStore } from '../../../src/store/postgres/database.ts';

/** A process that calls a server many times at once, when it is told to. Says for each call what came of it. */
const [home, databaseUrl, url, count] = process.argv.slice(2) as [string, string, string, string];
const store = await openStore(databaseUrl, { max: 3, application: 'fetch-test', migrate: false });
const config = { FETCH_HOME: home, FETCH_ENCRYPTION_KEY: undefined, FETCH_ALLOW_PRIVATE_URLS: false };
const { servers } = parseMcpConfig(JSON.stringify({ mcpServers: { s: { url } } }));
const signal = AbortSignal.timeout(60_000);
process.stdout.write('ready\n');
await new Promise((told) => process.stdin.once('data', told));
const results = await Promise.all(
  Array.from({ length: Number(count) }, async (_, at) => {
    const session = await connectTo(servers[0]!, { logins: { db: store.db, config } }, signal);
    const { text } = await session.call('echo', { text: `call ${at}` }, { signal, timeoutMs: 30_000 });
    await session.close();
    return text;
  }).map((call) => call.catch((error: Error) => `failed: ${error.message}`)),
);
process.stdout.write(`${JSON.stringify(results)}\n`);
await store.close();
process.exit(0);
