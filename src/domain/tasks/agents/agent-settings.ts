import { z } from 'zod';
import { factsOf, MODEL_AGENT_NAMES, type ModelAgentName } from '../../../../kennel/agents/registry.ts';

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
