import { factsOf, hasModel } from '../../kennel/agents/registry.ts';
import { profileOf } from '../../kennel/runner/profile/profile.ts';
import { AGENT_NAMES, type AgentName } from '../../src/contracts/kennel.ts';
import { modelSetting } from '../../src/domain/tasks/agents/agent-settings.ts';
import { table } from './page.ts';
import { envExample, liveSettings, originalNames, settingsTable } from './settings-table.ts';
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

/** Every generated table: the page that it is in, its name there, and what it says. */
export const TABLES: ReadonlyArray<{ page: string; name: string; text: () => string | Promise<string> }> = [
  { page: 'README.md', name: 'settings', text: () => settingsTable('people') },
  { page: 'docs/contributing.md', name: 'settings', text: () => settingsTable('tests') },
  { page: 'docs/operations.md', name: 'live-settings', text: liveSettings },
  { page: 'docs/operations.md', name: 'original-names', text: originalNames },
  { page: 'docs/kennel.md', name: 'agents', text: agentsTable },
  { page: 'docs/kennel.md', name: 'logins', text: loginsTable },
];

export const FILES: ReadonlyArray<{ file: string; text: () => string }> = [
  { file: '.env.example', text: envExample },
  { file: 'docs/tools.md', text: toolsPage },
];
