import { z } from 'zod';
import { factsOf, isAgent, MODEL_AGENT_NAMES, type ModelAgentName } from '../../../../kennel/agents/registry.ts';
import { AGENT_NAMES, type AgentName } from '../../../contracts/kennel.ts';
import { nearest } from '../../text/nearest.ts';

export type ModelSetting = `${Uppercase<ModelAgentName>}_MODEL`;
/** The setting that names the model of one agent. */
export const modelSetting = (name: ModelAgentName): ModelSetting =>
  `${name.toUpperCase() as Uppercase<ModelAgentName>}_MODEL`;

const modelOfAgent = (name: ModelAgentName) => {
  const { label, model } = factsOf(name);
  const otherwise = model?.protocol === 'openai' ? 'AGENT_MODEL' : 'its own default';
  return z.string().trim().min(1).optional().describe(`Model for ${label}; ${otherwise} when unset`);
};

/** One for each agent that works with a model. */
export const agentSettings = Object.fromEntries(
  MODEL_AGENT_NAMES.map((name) => [modelSetting(name), modelOfAgent(name)]),
) as Record<ModelSetting, ReturnType<typeof modelOfAgent>>;

/** Log-ins of agents (`FETCH_KENNEL_LOGINS`): the way to use a subscription, because providers give no key for one. */

interface Entry {
  text: string;
  name: string;
  path: string;
}

const entriesOf = (setting: string): Entry[] =>
  setting.split(',').flatMap((part) => {
    const text = part.trim();
    const at = text.indexOf('=');
    return text ? [{ text, name: text.slice(0, Math.max(at, 0)).trim(), path: text.slice(at + 1).trim() }] : [];
  });

const suggestion = (name: string): string => {
  const near = nearest(name, AGENT_NAMES)[0];
  return near ? ` (did you mean ${near}?)` : '';
};

/** What is wrong with the setting, to be read after its name; null when it is valid. */
export function loginsProblem(setting: string): string | null {
  const seen = new Set<string>();
  for (const { text, name, path } of entriesOf(setting)) {
    if (!name)
      return `"${text}" must be an agent and the file of its log-in, such as claude=/home/ada/.claude/.credentials.json`;
    if (!isAgent(name))
      return `"${name}" is not an agent${suggestion(name)}; it must be one of ${AGENT_NAMES.join(', ')}`;
    if (!path.startsWith('/')) return `the path for ${name} must be absolute, not "${path}"`;
    if (seen.has(name)) return `${name} is there twice`;
    seen.add(name);
  }
  return null;
}

/** Path of the log-in file on the host, for each agent that has one. The setting must be valid. */
export const loginsOf = (setting = ''): Map<AgentName, string> =>
  new Map(entriesOf(setting).flatMap(({ name, path }) => (isAgent(name) ? [[name, path] as const] : [])));
