import { z } from 'zod';
import type { Danger } from '../../contracts/conversation.ts';
import { egressHost } from '../settings/shapes.ts';
import { inline } from '../text/foreign-text.ts';

/** The file with the MCP servers of the owner, in the form that other clients use: `{"mcpServers": {NAME: {...}}}`. */

const LONGEST_NAME = 24;
const MOST_SERVERS = 32;
const DEFAULT_SECONDS = 60;
/** Every coding agent has a server of this name, by which it asks the person. */
const AGENTS_OWN = 'fetch';

/**
 * The part of a server that a person is shown, and that a yes holds for. No value of `env` or `headers` is in it: they
 * are secrets.
 */
export interface McpServer {
  /** of ASCII letters, digits and hyphens, because it is a part of the names of tools */
  name: string;
  reach:
    | { over: 'stdio'; command: string; args: string[]; env: string[]; cwd: string | null; hosts: string[] }
    | { over: 'http'; url: string; headers: string[]; oauth?: OAuthRule };
  /** for every tool without a danger of its own */
  danger: Danger;
  tools: Record<string, ToolRule>;
  /** of one call */
  timeoutMs: number;
  /** coding agents get its SAFE tools */
  agents?: true;
}

/** The owner's settings of the login at a server. Without it, all of it is asked of the server. */
interface OAuthRule {
  /** the authorization server, and no other; it may have a private address */
  issuer?: string | undefined;
  /** of a client that the owner has registered */
  clientId?: string | undefined;
  scope?: string | undefined;
  /** of the loopback address that the login ends at, where the authorization server wants to know it before */
  redirectPort?: number | undefined;
}

/** The owner's settings of one tool. What its server says of it only makes it more dangerous. */
interface ToolRule {
  danger?: Danger | undefined;
  /** a call may be repeated when its outcome is not known */
  idempotent?: boolean | undefined;
  disabled?: boolean | undefined;
}

/** A server with its secrets, as the file has it now. */
export interface ConfiguredServer {
  server: McpServer;
  env: Record<string, string>;
  headers: Record<string, string>;
  /** of the client that the owner has registered */
  clientSecret?: string;
}

export interface McpConfig {
  servers: ConfiguredServer[];
  /** entries that are switched off */
  off: McpServer[];
  /** entries that are not used, and why */
  problems: Array<{ name: string; problem: string }>;
}

const danger = z.preprocess(
  (value) => (typeof value === 'string' ? value.toUpperCase() : value),
  z.enum(['SAFE', 'MODERATE', 'DANGEROUS']),
);
const texts = z.record(z.string().min(1).max(200), z.string().max(8_000));
const rule = z.object({
  danger: danger.optional(),
  idempotent: z.boolean().optional(),
  disabled: z.boolean().optional(),
});
const oauth = z.object({
  issuer: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .optional(),
  clientId: z.string().min(1).max(500).optional(),
  clientSecret: z.string().min(1).max(2_000).optional(),
  scope: z.string().min(1).max(2_000).optional(),
  redirectPort: z.int().min(1).max(65_535).optional(),
});

/** Fields of other clients that are not listed are ignored. None of them, such as `autoApprove`, gives consent here. */
const entry = z.object({
  type: z.string().optional(),
  command: z.string().trim().min(1).max(1_000).optional(),
  args: z.array(z.string().max(4_000)).max(100).default([]),
  env: texts.default({}),
  cwd: z.string().min(1).max(1_000).optional(),
  hosts: z
    .array(
      z
        .string()
        .refine(
          (host) => egressHost(host) === null,
          'must be a host such as example.com, *.example.com or example.com:8443',
        ),
    )
    .max(50)
    .default([]),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .optional(),
  headers: texts.default({}),
  oauth: oauth.optional(),
  disabled: z.boolean().default(false),
  agents: z.boolean().default(false),
  danger: danger.default('DANGEROUS'),
  tools: z.record(z.string().max(200), rule).default({}),
  timeoutSeconds: z.number().min(1).max(600).default(DEFAULT_SECONDS),
});

/** Reads the file. One wrong entry does not take the others along. */
export function parseMcpConfig(text: string): McpConfig {
  const whole = (problem: string): McpConfig => ({ servers: [], off: [], problems: [{ name: '', problem }] });
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    return whole(`It is not valid JSON: ${inline((error as Error).message)}.`);
  }
  const listed = (raw as { mcpServers?: unknown } | null)?.mcpServers;
  if (typeof listed !== 'object' || listed === null || Array.isArray(listed))
    return whole('It must be an object with "mcpServers", an object of servers.');
  const entries = Object.entries(listed);
  if (entries.length > MOST_SERVERS)
    return whole(`It has ${entries.length} servers; at most ${MOST_SERVERS} are used.`);
  const config: McpConfig = { servers: [], off: [], problems: [] };
  for (const [key, value] of entries) {
    const found = readEntry(key, value);
    if (isOff(value)) {
      if (typeof found !== 'string') config.off.push(found.server);
      continue;
    }
    const taken = typeof found !== 'string' && config.servers.some(({ server }) => server.name === found.server.name);
    if (typeof found === 'string' || taken) {
      config.problems.push({
        name: inline(key, 60),
        problem: typeof found === 'string' ? found : 'Another server has this name already.',
      });
    } else config.servers.push(found);
  }
  return config;
}

const isOff = (value: unknown): boolean => (value as { disabled?: unknown } | null)?.disabled === true;

/** A string is what is wrong with it. */
function readEntry(key: string, value: unknown): ConfiguredServer | string {
  const name = key.trim().replaceAll(/[_ .]/g, '-');
  if (name.length > LONGEST_NAME || !/^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/.test(name))
    return `A name has letters, digits and single hyphens, and at most ${LONGEST_NAME} of them.`;
  const parsed = entry.safeParse(value);
  if (!parsed.success) return inline(z.prettifyError(parsed.error), 500);
  const {
    command,
    url,
    type,
    args,
    env,
    headers,
    cwd,
    hosts,
    disabled: _,
    timeoutSeconds,
    oauth,
    ...rest
  } = parsed.data;
  if ((command === undefined) === (url === undefined))
    return 'It needs either "command" (a program) or "url" (a server).';
  if (rest.agents && name === AGENTS_OWN)
    return `Agents have a server of the name ${AGENTS_OWN} already. Give this one another name.`;
  if (type === 'sse') return 'The old SSE transport is not supported. Use the address of its streamable HTTP.';
  const open = [...Object.entries(env), ...Object.entries(headers), ...args.map((arg) => ['args', arg] as const)].find(
    ([, text]) => text.includes('${'),
  );
  if (open)
    return `"${inline(open[0], 60)}" has a placeholder \${…}, and nothing fills it in here. Write the value itself.`;
  const common = {
    name,
    danger: rest.danger,
    tools: rest.tools,
    timeoutMs: timeoutSeconds * 1000,
    ...(rest.agents && { agents: true as const }),
  };
  if (command !== undefined) {
    if (cwd !== undefined && !cwd.startsWith('/')) return '"cwd" must be a whole path, from / on.';
    const reach = { over: 'stdio' as const, command, args, env: Object.keys(env), cwd: cwd ?? null, hosts };
    return { server: { ...common, reach }, env, headers: {} };
  }
  const parsedUrl = new URL(url!);
  if (parsedUrl.username || parsedUrl.password)
    return 'A password in an address would be shown. Put it into "headers".';
  const { clientSecret, ...rule } = oauth ?? {};
  if (clientSecret !== undefined && rule.clientId === undefined)
    return '"oauth" has a "clientSecret" without its "clientId".';
  const reach = {
    over: 'http' as const,
    url: parsedUrl.href,
    headers: Object.keys(headers),
    ...(oauth && { oauth: rule }),
  };
  return { server: { ...common, reach }, env: {}, headers, ...(clientSecret !== undefined && { clientSecret }) };
}
