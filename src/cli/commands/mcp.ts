import { command, program } from './program.ts';

export function addMcpCommands(): void {
  const mcp = program.command('mcp').description('Log in at MCP servers that want it').exitOverride();
  const load = () => import('../setup/mcp.ts');
  command(
    'list',
    'List the MCP servers of mcp.json, and whether their logins hold',
    'fetch mcp list --json',
    (self) => async (config) => (await load()).list(config, self.opts()),
    mcp,
  ).option('--json', 'print JSON');
  command(
    'login',
    'Log in at an MCP server, with a browser here or elsewhere',
    'fetch mcp login tickets',
    (self, [name]) =>
      async (config) =>
        (await load()).login(config, name!, self.opts()),
    mcp,
  )
    .argument('<name>', 'the server, as mcp.json names it')
    .option('--scope <scope>', 'what the login shall reach for, as its server names it')
    .option('--no-browser', 'open no browser; only print the address');
  command(
    'logout',
    'Forget the login at an MCP server, and tell its authorization server',
    'fetch mcp logout tickets',
    (_, [name]) =>
      async (config) =>
        (await load()).logout(config, name!),
    mcp,
  ).argument('<name>', 'the server');
}
