import type { HarnessName } from '../../contracts/kennel.ts';
import { loginsOf } from './logins.ts';

/** What the host must know about each coding agent; how it is run is said in `kennel/runner/profiles`. */
export interface HarnessFacts {
  label: string;
  /** the model protocol that it speaks through the gate; null needs none */
  needs: 'anthropic' | 'openai' | 'gemini' | null;
  /** settings that name its model, the first one that is set counts */
  model: readonly (keyof ModelSettings)[];
  /** false: an endpoint of OpenAI serves it without a name too, others do not; true: it never works without one; null: it has a default of its own */
  mustName: boolean | null;
  /** hosts that it reaches with a log-in of its own instead of a key, beside those of `FETCH_KENNEL_EGRESS` */
  loginHosts: readonly string[];
}

// where models are called and log-ins renewed, and nothing that agents only send reports to
const ANTHROPIC = ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com'];
const OPENAI = ['api.openai.com', 'auth.openai.com', 'chatgpt.com'];
const GOOGLE = ['cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'];
// github.com itself is where a log-in is made, not where it is used
const COPILOT = ['api.github.com', '*.githubcopilot.com'];

export const harnesses: Record<HarnessName, HarnessFacts> = {
  claude: { label: 'Claude Code', needs: 'anthropic', model: ['CLAUDE_MODEL'], mustName: null, loginHosts: ANTHROPIC },
  codex: { label: 'Codex', needs: 'openai', model: ['CODEX_MODEL', 'AGENT_MODEL'], mustName: false, loginHosts: OPENAI },
  gemini: { label: 'Gemini CLI', needs: 'gemini', model: ['GEMINI_MODEL'], mustName: null, loginHosts: GOOGLE },
  copilot: { label: 'Copilot CLI', needs: 'openai', model: ['COPILOT_MODEL', 'AGENT_MODEL'], mustName: true, loginHosts: COPILOT },
  opencode: {
    label: 'OpenCode',
    needs: 'openai',
    model: ['OPENCODE_MODEL', 'AGENT_MODEL'],
    mustName: true,
    loginHosts: [...ANTHROPIC, ...OPENAI, ...COPILOT, 'opencode.ai'],
  },
  practice: { label: 'practice agent', needs: null, model: [], mustName: null, loginHosts: [] },
};

/** Settings that open a way to a model, and those that name one. */
export interface ModelSettings {
  ANTHROPIC_API_KEY?: string;
  ANTHROPIC_BASE_URL?: string;
  GEMINI_API_KEY?: string;
  GOOGLE_GEMINI_BASE_URL?: string;
  OPENAI_API_KEY?: string;
  OPENAI_BASE_URL?: string;
  OPENROUTER_API_KEY?: string;
  AGENT_MODEL?: string;
  CLAUDE_MODEL?: string;
  CODEX_MODEL?: string;
  GEMINI_MODEL?: string;
  COPILOT_MODEL?: string;
  OPENCODE_MODEL?: string;
  FETCH_KENNEL_LOGINS?: string;
}

const OFFICIAL = ['https://api.anthropic.com', 'https://generativelanguage.googleapis.com'];
/** An endpoint of one's own may need no key; a provider's always does. */
const opens = (key: string | undefined, url: string | undefined): boolean =>
  Boolean(key) || (url !== undefined && !OFFICIAL.includes(url.replace(/(?<!\/)\/+$/, '')));

/** What a person should know before they let a log-in into containers. */
export const loginWarning = (name: HarnessName): string =>
  `the log-in of ${harnesses[name].label} enters its containers, where the agent and whatever it runs can read it; its tokens and money are not counted, so budgets of tokens and money do not bound it (time and silence do)`;

/** Name of the model that a harness is started with; null leaves it to the harness. */
export function modelOf(name: HarnessName, settings: ModelSettings): string | null {
  const loggedIn = loginsOf(settings.FETCH_KENNEL_LOGINS).has(name);
  for (const setting of harnesses[name].model) {
    // it names a model of the endpoint for chats, which is not where a log-in leads
    if (loggedIn && setting === 'AGENT_MODEL') continue;
    if (settings[setting]) return settings[setting];
  }
  return null;
}

/** What a harness lacks to reach a model, as a sentence; null when nothing. */
export function missingFor(name: HarnessName, settings: ModelSettings): string | null {
  if (loginsOf(settings.FETCH_KENNEL_LOGINS).has(name)) return null;
  const { label, needs, model, mustName } = harnesses[name];
  if (needs === 'anthropic' && !opens(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL)) return `${label} needs ANTHROPIC_API_KEY.`;
  if (needs === 'gemini' && !opens(settings.GEMINI_API_KEY, settings.GOOGLE_GEMINI_BASE_URL)) return `${label} needs GEMINI_API_KEY.`;
  if (needs !== 'openai') return null;
  if (!settings.OPENAI_API_KEY && !settings.OPENAI_BASE_URL && !settings.OPENROUTER_API_KEY)
    return `${label} needs OPENAI_API_KEY, OPENROUTER_API_KEY or OPENAI_BASE_URL.`;
  // said outright, it takes the endpoint away from coding agents too
  if (settings.AGENT_MODEL === 'practice') return `${label} needs a real model: AGENT_MODEL is practice.`;
  const ofOpenAI = settings.OPENAI_BASE_URL ? isOpenAI(settings.OPENAI_BASE_URL) : Boolean(settings.OPENAI_API_KEY);
  if (!modelOf(name, settings) && (mustName || !ofOpenAI)) return `${label} needs the name of a model: set ${model.join(' or ')}.`;
  return null;
}

/** By its text: `URL` is no part of the language. */
const isOpenAI = (url: string): boolean => /^https:\/\/api\.openai\.com(:443)?(\/|$)/i.test(url);

export interface Readiness {
  name: HarnessName;
  ready: boolean;
  /** what is missing */
  why: string | null;
}

/** The harness for a task: the one that is wanted, or by `auto` the first of `allowed` (the preferred one first) that is ready; practice only when nothing else is. */
export function chooseHarness(choice: {
  wanted: HarnessName | 'auto';
  allowed: readonly string[];
  ready: readonly Readiness[];
}): { ok: true; harness: HarnessName } | { ok: false; why: string } {
  const { wanted, allowed, ready } = choice;
  if (wanted !== 'auto') {
    if (!allowed.includes(wanted)) return { ok: false, why: `${harnesses[wanted].label} is not among FETCH_KENNEL_AGENTS (${allowed.join(', ')}).` };
    const found = ready.find((each) => each.name === wanted);
    return found?.ready ? { ok: true, harness: wanted } : { ok: false, why: found?.why ?? `${harnesses[wanted].label} is not ready on this host.` };
  }
  const real = [...allowed].sort((a, b) => Number(a === 'practice') - Number(b === 'practice'));
  for (const name of real) {
    const found = ready.find((each) => each.name === name);
    if (found?.ready) return { ok: true, harness: found.name };
  }
  const missing = ready.flatMap((each) => (each.why && allowed.includes(each.name) ? [each.why] : []));
  return { ok: false, why: ['No coding agent is ready.', ...missing].join(' ') };
}
