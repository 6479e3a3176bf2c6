import { AGENT_NAMES, type AgentName } from '../../src/contracts/kennel.ts';
import { facts as claude } from './claude/facts.ts';
import { facts as codex } from './codex/facts.ts';
import { facts as copilot } from './copilot/facts.ts';
import type { AgentFacts } from './facts.ts';
import { facts as gemini } from './gemini/facts.ts';
import { facts as nanoclaw } from './nanoclaw/facts.ts';
import { facts as opencode } from './opencode/facts.ts';
import { facts as practice } from './practice/facts.ts';

/**
 * What the host knows of the coding agents. An agent is a name in `AGENT_NAMES`, a folder of that name beside this
 * file, and an entry here. Settings, images, choices and tables follow from it. This file is all that `src` imports of
 * the kennel.
 */
const AGENTS = {
  claude,
  codex,
  gemini,
  copilot,
  opencode,
  nanoclaw,
  practice,
} satisfies Record<AgentName, AgentFacts>;

/** Agents that work with a model: each has an image and a setting `<NAME>_MODEL` of its own. */
export type ModelAgentName = {
  [Name in AgentName]: (typeof AGENTS)[Name]['model'] extends null ? never : Name;
}[AgentName];

export const factsOf = (name: AgentName): AgentFacts => AGENTS[name];
/** The image of others that has its program. Such an agent is chosen by its name only. */
export const imageOf = (name: AgentName): AgentFacts['image'] => factsOf(name).image;
export const hasModel = (name: AgentName): name is ModelAgentName => AGENTS[name].model !== null;
export const MODEL_AGENT_NAMES = AGENT_NAMES.filter(hasModel);
/** Agents whose packages an image of ours installs. */
export const INSTALLED_AGENT_NAMES = MODEL_AGENT_NAMES.filter((name) => !imageOf(name));
/** For a name that a person or a file has given. */
export const isAgent = (name: string): name is AgentName => Object.hasOwn(AGENTS, name);
