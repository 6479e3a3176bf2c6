import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { mcpConfigFile, readMcpConfig } from '../../adapters/mcp/configured.ts';
import { endpointOf, PRACTICE } from '../../adapters/model/endpoint/endpoint.ts';
import { type Config, childEnvironment, type Source, sourcesOf } from '../../config.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { VERSION } from '../../installation.ts';
import { type Extension, listExtensions } from '../../store/owner/extensions.ts';
import { clusterFolder } from '../instance/servers/postgres.ts';
import { withStore } from '../instance/servers/with-store.ts';
import { type Finding, shownAddress } from './finding.ts';

interface ServerHealth {
  name: string;
  enabled: boolean;
  status: 'ok' | 'warning' | 'error';
  detail: string;
}

/** Each MCP server of the file, with what a worker has found there. Without the database only the file is known. */
async function mcpServerHealth(config: Config): Promise<ServerHealth[]> {
  const { servers, off, problems } = await readMcpConfig(config);
  if (servers.length + off.length + problems.length === 0) return [];
  const found = await foundServers(config);
  const healths: ServerHealth[] = [
    ...servers.map(({ server: { name } }) => ({ name, enabled: true, ...healthOf(name, found) })),
    ...off.map(({ name }) => ({ name, enabled: false, status: 'ok' as const, detail: 'switched off in mcp.json' })),
    ...problems.map(({ name, problem }) => ({
      name: name || 'mcp.json',
      enabled: true,
      status: 'error' as const,
      detail: problem,
    })),
  ];
  return healths.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function healthOf(name: string, found: readonly Extension[] | null): Pick<ServerHealth, 'status' | 'detail'> {
  if (!found) return { status: 'warning', detail: 'the database does not answer, so nothing is known of it' };
  const row = found.find((each) => each.kind === 'mcp' && each.name === name);
  if (row?.problem) return { status: 'error', detail: inline(row.problem, 300) };
  if (!row?.declaration) return { status: 'warning', detail: 'not asked yet' };
  if (row.agreed) return { status: 'ok', detail: `${row.declaration.tools.length} tools in use` };
  return { status: 'warning', detail: row.agreed === null ? `waits for your yes: tools show ${name}` : 'you said no' };
}

const foundServers = (config: Config): Promise<Extension[] | null> =>
  withStore(config, 'fetch-doctor', ({ db }) => listExtensions(db)).catch(() => null);

/** What a folder is: its place, whether it is there, and how many of its kind it holds. */
const folder = (path: string, isOne: (name: string) => boolean) => {
  const present = existsSync(path);
  return { path, present, count: present ? readdirSync(path).filter(isOne).length : 0 };
};
const skillsIn = (path: string) => folder(path, (name) => existsSync(join(path, name, 'SKILL.md')));
/** Fields of the contract for what Fetch does not have. */
const NOTHING = { path: null, present: false, count: 0 };

const SOURCES: Record<Source, 'env' | 'config' | 'default'> = {
  flag: 'env',
  environment: 'env',
  file: 'config',
  default: 'default',
};
const OS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'macos', win32: 'windows' };
const ARCH: Partial<Record<NodeJS.Architecture, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/**
 * The fields of `doctor --json` in the contract, of this installation: what is there and how much of it, never a key,
 * the content of a file or a word of a chat.
 * `findings` are those of the same run.
 */
export async function capabilities(config: Config, findings: readonly Finding[]): Promise<Record<string, unknown>> {
  const { FETCH_HOME: home } = config;
  const workspace = config.FETCH_WORKSPACE ?? process.cwd();
  const configFile = join(home, '.env');
  const memories = config.DATABASE_URL ? null : clusterFolder(home);
  return {
    version: VERSION,
    config_path: configFile,
    config_present: existsSync(configFile),
    workspace,
    ...modelFacts(config, findings),
    search_provider: {
      provider: config.FETCH_SEARXNG_URL ? 'searxng' : null,
      source: SOURCES[sourcesOf(config).FETCH_SEARXNG_URL ?? 'default'],
    },
    memory: { enabled: true, path: memories, file_present: memories !== null && existsSync(memories) },
    mcp: {
      config_path: mcpConfigFile(config),
      present: existsSync(mcpConfigFile(config)),
      project_config_path: null,
      project_present: false,
      servers: await mcpServerHealth(config),
    },
    skills: {
      selected: join(home, 'skills'),
      global: skillsIn(join(home, 'skills')),
      agents: skillsIn(join(workspace, '.agents', 'skills')),
      agents_global: skillsIn(join(homedir(), '.agents', 'skills')),
      local: skillsIn(join(workspace, 'skills')),
      opencode: skillsIn(join(workspace, '.opencode', 'skills')),
      claude: skillsIn(join(workspace, '.claude', 'skills')),
    },
    tools: folder(join(home, 'tools'), (name) => name.endsWith('.json')),
    plugins: NOTHING,
    storage: { spillover: NOTHING, stash: NOTHING },
    sandbox: sandbox(findings),
    platform: { os: OS[process.platform] ?? process.platform, arch: ARCH[process.arch] ?? process.arch },
  };
}

function modelFacts(config: Config, findings: readonly Finding[]) {
  const endpoint = endpointOf(config);
  const found = findings.find(({ name }) => name === 'model');
  const model = (config.AGENT_MODEL ?? found?.version) || PRACTICE;
  const provider = endpoint?.kind ?? PRACTICE;
  const verified = childEnvironment({}).NODE_TLS_REJECT_UNAUTHORIZED !== '0';
  return {
    api_key: { source: keySource(config, endpoint !== null) },
    base_url: endpoint ? shownAddress(endpoint.baseUrl) : null,
    default_text_model: endpoint ? model : PRACTICE,
    strict_tool_mode: {
      enabled: false,
      status: 'disabled',
      function_strict_sent: false,
      message: 'disabled',
      recommended_base_url: null,
    },
    tls: {
      certificate_verification: verified,
      insecure_skip_tls_verify: !verified,
      provider,
      message: verified
        ? 'TLS certificate verification enabled'
        : 'NODE_TLS_REJECT_UNAUTHORIZED=0 switches the verification of certificates off',
    },
    api_connectivity: { checked: endpoint !== null, note: found?.detail ?? '' },
    capability: {
      resolved_provider: provider,
      resolved_model: endpoint ? model : PRACTICE,
      // what a step may see of the dialogue at most: many endpoints do not tell the window of a model
      context_window: config.FETCH_CONTEXT_TOKENS,
      max_output: null,
      thinking_supported: null,
      cache_telemetry_supported: true,
      request_payload_mode: 'ChatCompletions',
      alias_deprecation: null,
    },
  };
}

/** Where the key in use comes from. A local endpoint may need none. */
function keySource(config: Config, hasEndpoint: boolean): 'env' | 'config' | 'missing' {
  const name = config.OPENAI_API_KEY ? 'OPENAI_API_KEY' : 'OPENROUTER_API_KEY';
  if (!hasEndpoint || !config[name]) return 'missing';
  return SOURCES[sourcesOf(config)[name]!] === 'config' ? 'config' : 'env';
}

function sandbox(findings: readonly Finding[]) {
  const available = findings.some(({ name, state }) => name === 'docker' && state === 'ok');
  return { available, kind: available ? 'docker' : null };
}
