import { factsOf, hasModel } from '../../../../kennel/agents/registry.ts';
import type { AgentName } from '../../../contracts/kennel.ts';
import { readFailure } from '../../model/agent-limit.ts';
import { OWN_BUDGET } from '../../model/limit-phrases.ts';
import { cut } from '../../text/storable.ts';
import { loginsOf } from './agent-settings.ts';
import { type ModelSettings, modelOf } from './agents.ts';

/**
 * An agent speaks of its container as it sees it: addresses of the gate, its home, the mount of the workspace. Nobody
 * outside can open them. They are replaced by words that mean something outside (`INSIDE` in `src/contracts/kennel.ts`
 * has the real ones).
 */
const INSIDE_WORDS: ReadonlyArray<readonly [RegExp, string]> = [
  // Codex appends the address of the call
  [/,? ?\(?\burl: https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[^\s,)]*\)?/gi, ''],
  // advice about settings that only the inside has: Copilot CLI, Claude Code
  [/\bCheck your COPILOT_PROVIDER_[A-Z_]{1,40}(?:,? (?:or )?COPILOT_PROVIDER_[A-Z_]{1,40}){0,4}\./g, ''],
  [/\bIf it persists, check your inference gateway \([^)\s]{0,100}\)\./g, ''],
  [/\b(?:https?:\/\/)?(?:127\.0\.0\.1|localhost|\[::1\]):4010\b[^\s,)"'`]*/gi, 'its model endpoint'],
  [/\b(?:https?:\/\/)?(?:127\.0\.0\.1|localhost|\[::1\]):4011\b[^\s,)"'`]*/gi, 'its way to the network'],
  [/\b(?:https?:\/\/)?127\.0\.0\.1(?::\d{1,5})?[^\s,)"'`]*/gi, 'an address inside its container'],
  [/\/run\/fetch-login\b[^\s,:;)"'`]*/g, 'its log-in file'],
  [/\/run\/fetch(?:-side)?\b[^\s,:;)"'`]*/g, 'its own folder'],
  [/\/opt\/agent\b[^\s,:;)"'`]*/g, 'its program'],
  [/\/workspace\/(?=[^\s/])/g, ''],
  [/\/workspace\b\/?/g, 'the workspace'],
  [/\bsk-fetch-[0-9a-f*.]+/gi, '[hidden]'],
];

export function withoutInside(text: string): string {
  const replaced = INSIDE_WORDS.reduce((sentence, [inside, words]) => sentence.replace(inside, words), text);
  return replaced.replace(/ {2,}/g, ' ').trim();
}

/** Problems between an agent and its model that a person can put right. */
type Trouble = 'key' | 'money' | 'model' | 'address';

/** How much of the agent's own words follows ours, in characters. */
const THEIR_WORDS = 200;

/**
 * Why a task has failed, for the person who reads it: what is wrong and what to do, then the agent's words.
 * `reason` is the sentence of the run. What it tells of the inside of the container is left out.
 */
export function failureForPeople(reason: string, agent: AgentName, settings: ModelSettings): string {
  const outside = withoutInside(reason);
  if (!hasModel(agent) || OWN_BUDGET.test(reason)) return outside;
  if (MISSING.test(reason)) return `${factsOf(agent).label} has no model to work with. Put in a key ${SETTINGS}.`;
  const trouble = troubleIn(reason);
  if (!trouble) return outside;
  const words = withoutInside(readFailure(reason).texts.at(-1)!);
  return SAYS_NOTHING.test(words)
    ? advice(trouble, agent, settings)
    : `${advice(trouble, agent, settings)} (It said: ${cut(words, THEIR_WORDS)})`;
}

const SAYS_NOTHING = /^(?:.{0,60}Authentication required(?: \(-?\d{1,6}\))?\.?|\s*)$/;

/** The gate says it where a setting is missing (`upstreams.ts`). */
const MISSING =
  /No (?:key for this model provider|model) is configured[^:]{0,40}: set [A-Z_, a-z]{1,120}(?:, and restart)?\./;

/** Only what stands at the beginning counts, because the rest may be text of others. */
const PHRASES: ReadonlyArray<readonly [Trouble, RegExp]> = [
  // our own gate (`gate/model/errors.ts`)
  ['address', /^The model endpoint (?:cannot be reached|redirects elsewhere)/],
  [
    'address',
    /^(?:Unable to connect to API|Cannot connect to API|Could not connect to (?:local )?model provider|Connection error|fetch failed)\b/i,
  ],
  [
    'money',
    /^(?:Your |This request )?(?:credit balance is too low|insufficient[_ ](?:quota|balance|credits)|requires more credits|billing_error)\b/i,
  ],
  ['money', /^(?:You're out of (?:usage )?credits|Your workspace is out of credits|(?:402 )?You have no quota)\b/i],
  // every agent, by the protocol (-32000)
  ['key', /^(?:The (?:agent did not start|session could not be resumed): )?Authentication required\b/i],
  [
    'key',
    /^(?:Invalid API key|Incorrect API key|API key not valid|invalid x-api-key|Authentication failed with provider|authentication_failed)\b/i,
  ],
  // Claude Code with a log-in
  ['key', /^(?:Not logged in|Login expired|Session expired|OAuth token|Please run \/login)\b/i],
  // OpenCode passes on the provider's message without its status: OpenRouter, DeepSeek, vLLM
  [
    'key',
    /^(?:Unauthorized|Forbidden|No auth credentials found|User not found|Invalid (?:authentication|token|credentials)|Authentication Fails)\b/i,
  ],
  [
    'model',
    /^(?:model_not_found|no such model|unknown model|invalid model name|There's an issue with the selected model)\b/i,
  ],
  ['model', /^(?:The )?(?:requested )?models?\b.{0,120}\b(?:does not exist|not found)\b/i],
];

function troubleIn(reason: string): Trouble | null {
  const { texts, status } = readFailure(reason);
  const said = PHRASES.find(([, phrase]) => texts.some((text) => phrase.test(text)))?.[0];
  if (said) return said;
  if (status === 401 || status === 403) return 'key';
  if (status === 402) return 'money';
  return status === 404 ? 'model' : null;
}

const SETTINGS = 'on my page, under Settings';

function advice(trouble: Trouble, agent: AgentName, settings: ModelSettings): string {
  const { label } = factsOf(agent);
  const isLoggedIn = loginsOf(settings.FETCH_KENNEL_LOGINS).has(agent);
  const { key, hasAddress } = endpointFor(agent, settings);
  switch (trouble) {
    case 'key': {
      if (isLoggedIn)
        return `The log-in of ${label} is not valid any more. Log in again with its own program, then start the task again.`;
      if (!settings[key]) return `The model provider of ${label} wants a key. Put one in ${SETTINGS}.`;
      const shared = factsOf(agent).model?.protocol === 'openai' ? ', which chats use, too' : '';
      return `The model provider of ${label} refused the key${shared}: it is wrong, has expired or may not use this model. Put in another one ${SETTINGS}.`;
    }
    case 'money':
      if (isLoggedIn)
        return `The account that ${label} is logged in with has no credit left, or its plan does not include this.`;
      return `The account of ${label} at its model provider has no credit left. Add some there, or put in the key of another account ${SETTINGS}.`;
    case 'model': {
      const named = modelOf(agent, settings);
      const wrong = named
        ? `${label} was to use the model ${named}, which its provider does not have`
        : `The provider of ${label} does not have its default model`;
      return `${wrong}. Choose one that it has ${SETTINGS}.`;
    }
    case 'address': {
      const settled = hasAddress && !isLoggedIn ? 'its address under Settings, and ' : '';
      return `The model endpoint of ${label} cannot be reached: check ${settled}the network of this machine. Then start the task again.`;
    }
  }
}

type KeySetting = 'ANTHROPIC_API_KEY' | 'GEMINI_API_KEY' | 'OPENAI_API_KEY' | 'OPENROUTER_API_KEY';

/** The key that leads an agent to its model, and whether an address of its endpoint is set. */
function endpointFor(agent: AgentName, settings: ModelSettings): { key: KeySetting; hasAddress: boolean } {
  const protocol = factsOf(agent).model?.protocol;
  if (protocol === 'anthropic') return { key: 'ANTHROPIC_API_KEY', hasAddress: Boolean(settings.ANTHROPIC_BASE_URL) };
  if (protocol === 'gemini') return { key: 'GEMINI_API_KEY', hasAddress: Boolean(settings.GOOGLE_GEMINI_BASE_URL) };
  // it works with the endpoint of the chats
  const key = settings.OPENAI_API_KEY || !mayUseOpenRouter(settings) ? 'OPENAI_API_KEY' : 'OPENROUTER_API_KEY';
  return { key, hasAddress: Boolean(settings.OPENAI_BASE_URL) };
}

/** Its key is sent to no other host. By its text: `URL` is no part of the language. */
const mayUseOpenRouter = ({ OPENAI_BASE_URL, OPENROUTER_API_KEY }: ModelSettings): boolean =>
  OPENAI_BASE_URL ? /^https:\/\/openrouter\.ai(?:[:/]|$)/i.test(OPENAI_BASE_URL) : Boolean(OPENROUTER_API_KEY);
