import { factsOf, hasModel } from '../../kennel/agents/registry.ts';
import { profileOf } from '../../kennel/runner/profile/profile.ts';
import { AGENT_NAMES, type AgentName } from '../../src/contracts/kennel.ts';
import { modelSetting } from '../../src/domain/tasks/agents/agent-settings.ts';
import { table } from './page.ts';
import { essentialTable, listSettings, settingsPage, testsTable } from './settings-page.ts';
import { toolsPage } from './tools-page.ts';

/** What each agent needs to reach a model. */
const agentsTable = (): string =>
  table(
    ['agent', 'name', 'needs', 'its model', 'remark'],
    AGENT_NAMES.map((name) => [
      factsOf(name).label,
      `\`${name}\``,
      needs(name),
      modelNames(name),
      factsOf(name).remark ?? '',
    ]),
  );

const NEEDS = {
  anthropic: '`ANTHROPIC_API_KEY`',
  gemini: '`GEMINI_API_KEY`',
  openai: 'an OpenAI-compatible endpoint',
} as const;

function needs(name: AgentName): string {
  const { model } = factsOf(name);
  return model ? NEEDS[model.protocol] : 'nothing';
}

function modelNames(name: AgentName): string {
  const { model } = factsOf(name);
  if (!model || !hasModel(name)) return 'none';
  const own = `\`${modelSetting(name)}\``;
  if (model.protocol !== 'openai') return `${own}, or its own default`;
  return model.mustBeNamed ? `${own} or \`AGENT_MODEL\`` : `${own}, \`AGENT_MODEL\`, or the default of OpenAI`;
}

/** The log-in that each may have instead of a key. */
async function loginsTable(): Promise<string> {
  const rows = AGENT_NAMES.map(async (name) => {
    const { hosts, remark = '' } = factsOf(name).login;
    return [name, `\`~/${(await profileOf(name)).login}\``, hosts.join(', ') || 'none', remark];
  });
  return table(
    ['agent', 'file of its log-in', 'hosts that its containers may reach then', 'remark'],
    await Promise.all(rows),
  );
}

/** What only docker-compose.yml reads, when a copy of the example is beside it. */
const FOR_COMPOSE = [
  '# For `docker compose` only (docs/server.md): beside docker-compose.yml, the file .env also holds what follows.',
  '',
  '# full: with SearXNG and the Web UI of Temporal; minimal: without; full,observability: with Prometheus and Grafana, too',
  'COMPOSE_PROFILES=full',
  '',
  '# FETCH_HOME there: a folder of the host, which the containers see at the same path',
  '# FETCH_HOME=/var/lib/fetch',
  '',
  "# Group of the engine's socket, for the kennel: stat -c %g /var/run/docker.sock",
  '# DOCKER_GID=999',
  '',
  '# The socket itself, on the host',
  '# DOCKER_SOCKET=/var/run/docker.sock',
  '',
  '# Address of the host at which the APIs are published. Beyond loopback put TLS in front of them',
  '# PUBLISH_ADDRESS=127.0.0.1',
  '',
  '# Ports of the profile observability, on loopback',
  '# GRAFANA_PORT=3000',
  '# PROMETHEUS_PORT=9090',
];

/** Lines of at most 120 characters; a word that is longer has a line of its own. */
const comment = (text: string): string => `# ${text}`.replace(/(.{1,118})(?: |$)/g, '$1\n# ').replace(/\n# $/, '');

/** The text of `.env.example`; every line of a setting is a comment, so that a copy of it changes nothing. */
export const envExample = (): string =>
  [
    '# Settings of Fetch, written by "npm run docs". Copy the lines you want to FETCH_HOME/.env (mode 0600).',
    '# A flag wins over the environment, which wins over that file. FETCH_HOME is read only from the environment.',
    '# A secret may be in a file: OPENAI_API_KEY_FILE=/path/to/file in place of OPENAI_API_KEY.',
    ...listSettings().flatMap(({ name, fallback, meaning }) => ['', comment(meaning), `# ${name}=${fallback ?? ''}`]),
    '',
    '# Names of Fetch 0.0.94 count, too: docs/settings.md.',
    '',
    ...FOR_COMPOSE,
    '',
  ].join('\n');

/** Every generated table: the page that it is in, its name there, and what it says. */
export const TABLES: ReadonlyArray<{ page: string; name: string; text: () => string | Promise<string> }> = [
  { page: 'README.md', name: 'settings', text: essentialTable },
  { page: 'docs/contributing.md', name: 'settings', text: testsTable },
  { page: 'docs/coding-tasks.md', name: 'agents', text: agentsTable },
  { page: 'docs/coding-tasks.md', name: 'logins', text: loginsTable },
];

export const FILES: ReadonlyArray<{ file: string; text: () => string }> = [
  { file: '.env.example', text: envExample },
  { file: 'docs/settings.md', text: settingsPage },
  { file: 'docs/tools.md', text: toolsPage },
];
