import { InvalidArgumentError, Option } from 'commander';
import { command, commandWithFlags } from './program.ts';

/** How other programs use Fetch: servers that speak a protocol, and the owner's page. */
export function addServeCommands(): void {
  const serve = commandWithFlags(
    'serve',
    'Serve other programs: start Fetch, or attach to what runs',
    'fetch serve --http --port 7878',
    async (self, _args, flags) => {
      const options = self.opts();
      if (options.qr && !options.mobile)
        self.error('error: --qr shows the address of the page for phones, and needs --mobile');
      await (await import('../protocols/serve/serve.ts')).run(options, flags);
    },
  );
  serve
    .option('--http', 'the runtime API, over HTTP')
    .addOption(
      new Option(
        '--mobile',
        'the same, with the page for phones; binds to 0.0.0.0 unless --host says otherwise',
      ).conflicts('http'),
    )
    .option('--acp', 'an agent for editors, on standard input and output; the same as fetch acp')
    .option('--mcp', 'our tools for MCP clients, on standard input and output; the same as fetch mcp-server')
    .option('--port <port>', 'of the runtime API (default 7878)', port)
    .option('--workers <count>', 'coding tasks at once, from 1 to 8', workers)
    .option('--auth-token <token>', 'bearer token; one is made when none is configured')
    .option(
      '--cors-origin <url>',
      'one more origin that browsers may call from; may be repeated',
      (url: string, before: string[] = []) => [...before, url],
    )
    .option('--insecure', 'ask for no token while none is configured; on a loopback address only')
    .option('--qr', 'with --mobile: show the address of the page as a QR');
  command(
    'open',
    'Open your page in the browser, logged in',
    'fetch open --print',
    (self) => async (config) => (await import('../setup/open.ts')).run(config, self.opts()),
  ).option('--print', 'only print the link');
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535) throw new InvalidArgumentError('It must be a port, from 1 to 65535.');
  return value;
}

function workers(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Math.min(8, Math.max(1, Number(text)));
}

/** Commands that speak a protocol on stdin and stdout: an editor or another program starts them. */
export function addProtocolCommands(): void {
  command(
    'acp',
    'Be the agent of an editor that speaks the Agent Client Protocol; the editor starts it',
    'fetch acp --home ~/.fetch-work',
    () => async (config, reload, flags) => (await import('../protocols/acp/acp.ts')).runAcp({ config, reload, flags }),
  );
  command(
    'mcp-server',
    'Offer the tools to an MCP client, on stdin and stdout; the client starts it',
    'fetch mcp-server --home ~/.fetch-work',
    () => async (config, reload, flags) =>
      (await import('../protocols/mcp-server.ts')).runMcp({ config, reload, flags }),
  );
}
