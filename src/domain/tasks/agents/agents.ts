import { factsOf, hasModel, imageOf } from '../../../../kennel/agents/registry.ts';
import type { AgentName } from '../../../contracts/kennel.ts';
import { english } from '../../texts/say.ts';
import { loginsOf, type ModelSetting, modelSetting } from './agent-settings.ts';

/**
 * The settings that coding agents need, and the choice of an agent for a task. What they are is said in
 * `kennel/agents`.
 */

/** Settings that open a way to a model, and those that name one. */
export interface ModelSettings extends Partial<Record<ModelSetting, string>> {
  ANTHROPIC_API_KEY?: string;
  ANTHROPIC_BASE_URL?: string;
  GEMINI_API_KEY?: string;
  GOOGLE_GEMINI_BASE_URL?: string;
  OPENAI_API_KEY?: string;
  OPENAI_BASE_URL?: string;
  OPENROUTER_API_KEY?: string;
  AGENT_MODEL?: string;
  FETCH_KENNEL_LOGINS?: string;
}

const OFFICIAL = ['https://api.anthropic.com', 'https://generativelanguage.googleapis.com'];
/** An endpoint of one's own may need no key; a provider's always does. */
const opens = (key: string | undefined, url: string | undefined): boolean =>
  Boolean(key) || (url !== undefined && !OFFICIAL.includes(url.replace(/(?<!\/)\/+$/, '')));

/** The warning before a log-in is given to containers. */
export const loginWarning = (name: AgentName): string =>
  `the log-in of ${factsOf(name).label} enters its containers, where the agent and whatever it runs can read it; its tokens and money are not counted, so budgets of tokens and money do not bound it (time and silence do)`;

/** Name of the model that an agent is started with; null leaves it to the agent. */
export function modelOf(name: AgentName, settings: ModelSettings): string | null {
  if (!hasModel(name)) return null;
  const own = settings[modelSetting(name)];
  if (own) return own;
  // it names a model of the endpoint for chats, which is not where the other protocols or a log-in lead
  const chats = factsOf(name).model?.protocol === 'openai' && !loginsOf(settings.FETCH_KENNEL_LOGINS).has(name);
  return (chats && settings.AGENT_MODEL) || null;
}

/** What an agent lacks to reach a model, as a sentence; null when nothing. */
export function missingFor(name: AgentName, settings: ModelSettings): string | null {
  if (!hasModel(name) || loginsOf(settings.FETCH_KENNEL_LOGINS).has(name)) return null;
  const { label, model } = factsOf(name);
  if (model?.protocol === 'anthropic')
    return opens(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL) ? null : `${label} needs a key of Anthropic.`;
  if (model?.protocol === 'gemini')
    return opens(settings.GEMINI_API_KEY, settings.GOOGLE_GEMINI_BASE_URL) ? null : `${label} needs a key of Gemini.`;
  if (!settings.OPENAI_API_KEY && !settings.OPENAI_BASE_URL && !settings.OPENROUTER_API_KEY)
    return `${label} needs a model: a key of OpenAI or OpenRouter, or another endpoint.`;
  // said outright, it takes the endpoint away from coding agents too
  if (settings.AGENT_MODEL === 'practice') return `${label} needs a real model, and the practice model is set.`;
  const ofOpenAI = settings.OPENAI_BASE_URL ? isOpenAI(settings.OPENAI_BASE_URL) : Boolean(settings.OPENAI_API_KEY);
  if (!modelOf(name, settings) && (model?.mustBeNamed || !ofOpenAI)) return `${label} needs the name of a model.`;
  return null;
}

/** By its text: `URL` is no part of the language. */
const isOpenAI = (url: string): boolean => /^https:\/\/api\.openai\.com(:443)?(\/|$)/i.test(url);

export interface Readiness {
  name: AgentName;
  ready: boolean;
  /** what is missing */
  why: string | null;
}

interface AgentChoice {
  wanted: AgentName | 'auto';
  /** the preferred one first */
  allowed: readonly string[];
  ready: readonly Readiness[];
  /** the one that the person had named for an earlier task of this chat */
  named?: AgentName | undefined;
  /** nobody can be asked: the first one is taken */
  unattended?: boolean | undefined;
}

/** `choices`: the person has to say which of these, because several are ready and none was named. */
type ChosenAgent = { ok: true; agent: AgentName } | { ok: false; why: string; choices?: AgentName[] };

/**
 * The agent for a task: the one that is wanted, or by `auto` the only one that is ready. One without a model is taken
 * only when no other is ready.
 */
export function chooseAgent({ wanted, allowed, ready, named, unattended }: AgentChoice): ChosenAgent {
  if (wanted !== 'auto') {
    if (!allowed.includes(wanted))
      return {
        ok: false,
        why: english('agent.notAllowed', { agent: factsOf(wanted).label, agents: allowed.join(', ') }),
      };
    const found = ready.find((each) => each.name === wanted);
    return found?.ready
      ? { ok: true, agent: wanted }
      : { ok: false, why: found?.why ?? english('agent.notReady', { agent: factsOf(wanted).label }) };
  }
  const possible = allowed.filter((name): name is AgentName => ready.some((each) => each.name === name && each.ready));
  const models = possible.filter((name) => hasModel(name) && !imageOf(name));
  const choices = models.length > 0 ? models : possible.filter((name) => !imageOf(name));
  const [first] = choices;
  if (!first) {
    const missing = ready.flatMap(({ name, why }) => (why && allowed.includes(name) && !imageOf(name) ? [why] : []));
    return { ok: false, why: [english('agent.none'), ...missing].join(' ') };
  }
  if (choices.length === 1 || unattended) return { ok: true, agent: first };
  if (named && choices.includes(named)) return { ok: true, agent: named };
  const labels = choices.map((name) => `${factsOf(name).label} (${name})`).join(', ');
  return {
    ok: false,
    choices,
    why: `Several coding agents are ready: ${labels}. Ask the person with ask_user which one, then call this again with its name. If they do not mind, take ${first}.`,
  };
}
