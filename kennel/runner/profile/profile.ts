import { existsSync } from 'node:fs';
import type { PromptResponse, SessionUpdate, ToolCallUpdate } from '@agentclientprotocol/sdk';
import type { AgentName, ChatOfRun } from '../../../src/contracts/kennel.ts';

/**
 * What one coding agent needs beside the protocol that all of them speak (ACP v1): data and small pure functions.
 * Everything else (session, prompt, updates, permissions, questions, cancel) is the same code for each:
 * `kennel/runner/agent/turn.ts`. A profile is the export `profile` of `kennel/agents/<name>/profile.ts`.
 */
export interface Profile {
  /** `package.json` of the agent in the image, for its version; a file that is not there means "unknown" */
  versionFile?: string;
  /** its version, for one that has no such file */
  version?: string;
  /** the file that its own log-in is in, relative to HOME */
  login: string;
  /** How the agent is started as an ACP agent on stdio. */
  command(context: ProfileContext): AgentCommand;
  /** `modeId` for `session/set_mode` after the session is there, or null where command or files settle it. */
  mode(context: ProfileContext): string | null;
  /** Its own mode for a run that makes a plan; unset where it has none. The workspace is read only in any case. */
  planMode?: PlanMode;
  /**
   * Folder under HOME with the plans that it writes, for a request to leave the mode that does not have the plan
   * itself.
   */
  planFiles?: string;
  /** which request goes on with a session; `load` replays its history, which the runner does not log */
  resume: 'load' | 'resume';
  /** Runs before the agent is started for a resumed session: workarounds on the files under HOME. May wait. */
  beforeResume?(context: ProfileContext, sessionId: string): Promise<void>;
  /** `clientCapabilities._meta`: opt-ins of this vendor */
  clientMeta?: Record<string, unknown>;
  /** An NDJSON file of the agent that is followed while the turn runs; its lines reach `watchFile`. */
  file?(context: ProfileContext, sessionId: string): string;

  /**
   * A failure that a `session/update` tells of (one sentence), or null. The last one counts, and only when `ended` says
   * so.
   */
  watchUpdate?(update: SessionUpdate, meta: Record<string, unknown> | null | undefined): string | null;
  /** The same for a line of `file`. */
  watchFile?(line: Record<string, unknown>): string | null;
  /**
   * What a piece of text of the agent is: its own words, chatter of the program (becomes a note), or nothing. `text`
   * unset: all are words.
   */
  text?(text: string): 'words' | 'note' | 'nothing';
  /**
   * Why the turn failed, in one sentence, or null when it did not. Called once, after `session/prompt` returned or was
   * refused.
   */
  failure(turn: Turn): string | null;
  /** Tokens of the turn where `response.usage` does not have them. */
  usage?(response: PromptResponse): { inputTokens: number; outputTokens: number } | null;
  /**
   * True when a permission is asked for our own `ask_human`, which is always allowed; unset: `isAskHuman` of
   * `permissions.ts`. Must be exact: an agent chooses titles.
   */
  asksHuman?(toolCall: ToolCallUpdate): boolean;
  /**
   * After `session/cancel`: `wait` for the prompt's result (at most 5 s), or end the process `at-once` (its tools go on
   * until then).
   */
  afterCancel: 'wait' | 'at-once';
}

/**
 * `modeId` in place of `mode`, or an option of the session. Sessions keep both: `work` is set when one is resumed to
 * work, unless `mode` says a mode.
 */
type PlanMode = { modeId: string; work?: string } | { configId: string; plan: string; work: string };

export interface ProfileContext {
  /** HOME of the agent, kept over the steps of a run */
  home: string;
  /** cwd of the session, the same in each step */
  workspace: string;
  /** model of the spec; null is the agent's own default */
  model: string | null;
  /**
   * it is logged in by itself: neither `dummyKey` nor `modelBase` may reach it, its provider is reached through
   * `egressProxy`
   */
  login: boolean;
  /** stands where an API key is wanted; long and unique, so that masking it in output masks nothing else */
  dummyKey: string;
  /**
   * `http://127.0.0.1:4010`; Anthropic Messages under `/anthropic` (without `/v1`), OpenAI under `/openai/v1`, Gemini
   * under `/gemini`
   */
  modelBase: string;
  /**
   * `http://127.0.0.1:4011`: HTTP proxy for everything else; already in HTTP(S)_PROXY and NO_PROXY of the base
   * environment
   */
  egressProxy: string;
  /**
   * `ask_human`: already in `mcpServers` of the session as the HTTP server `fetch`; here for agents that want it in a
   * file
   */
  mcp: { name: string; url: string; token: string };
  /**
   * MCP servers of the owner, which are in `mcpServers` of the session as well; what they want of secrets is added
   * outside
   */
  servers: ReadonlyArray<{ name: string; url: string }>;
  /** the chat of the task; null where the agent need not know */
  chat: ChatOfRun | null;
  permissions: 'ask' | 'run';
  resuming: boolean;
  /** uid 0 */
  root: boolean;
  /** environment of the container (PATH, LANG, what the task adds), without what is the runner's own */
  env: Readonly<Record<string, string>>;
}

export interface AgentCommand {
  argv: string[];
  /** on top of the base environment (the container's, HOME, proxy settings); null takes a name out */
  env: Record<string, string | null>;
  /** written before each start; `path` relative to HOME; `once` leaves a file alone that is there */
  files: Array<{ path: string; content: string; once?: boolean }>;
}

/**
 * How often a failed model call is tried again, with growing pauses: some tens of seconds in all. `FETCH_MODEL_RETRIES`
 * says otherwise. Copilot CLI and OpenCode have fixed numbers of their own, 5 each.
 */
export const retries = (context: Pick<ProfileContext, 'env'>): number => Number(context.env.FETCH_MODEL_RETRIES ?? 6);

/** How a turn came back. */
export interface Turn {
  /** null when the request was refused or the agent died */
  response: PromptResponse | null;
  /** JSON-RPC error of `session/prompt` */
  error: { code: number; message: string; data?: unknown } | null;
  /** the last 4000 characters that the agent said in this turn */
  lastText: string;
  /** tool calls of this turn */
  tools: number;
  /** what `watchUpdate` and `watchFile` said last, null when nothing */
  seen: string | null;
}

/** The profile of an agent, by the name of its folder. An image holds that of its own agent, and practice. */
export async function profileOf(name: AgentName): Promise<Profile> {
  const file = new URL(`../../agents/${name}/profile.ts`, import.meta.url);
  // a name is a folder and no path
  if (!/^[a-z]+$/.test(name) || !existsSync(file)) throw new Error(`There is no agent named ${name} in this image`);
  return ((await import(file.href)) as { profile: Profile }).profile;
}

/**
 * Where the image has its agent (`kennel/agents/install.sh`). `FETCH_AGENT` names another folder, for an agent that is
 * not in an image.
 */
export const AGENT_FOLDER = '/opt/agent';

/** A program of the agent. */
export const program = (context: Pick<ProfileContext, 'env'>, name: string): string =>
  `${context.env.FETCH_AGENT ?? AGENT_FOLDER}/bin/${name}`;

/** The rule for an agent that answers a failed turn with a JSON-RPC error. */
export function failureByError(turn: Turn): string | null {
  if (turn.error) return sentence(turn.error);
  if (turn.response?.stopReason === 'refusal') return 'The agent refused to go on.';
  if (turn.response?.stopReason === 'max_tokens') return 'The agent stopped at the limit of tokens of its model.';
  if (turn.response?.stopReason === 'max_turn_requests')
    return 'The agent stopped at its limit of model calls in one turn.';
  return null;
}

/**
 * One line of an error, with the details that many agents put in `data`, and the kind that Claude Code's adapter names
 * there.
 */
export function sentence(error: { code: number; message: string; data?: unknown }): string {
  const data = error.data;
  let more = '';
  let kind: unknown;
  if (typeof data === 'string') more = data;
  else if (data && typeof data === 'object') {
    const fields = data as Record<string, unknown>;
    for (const key of ['details', 'message', 'error']) if (typeof fields[key] === 'string' && !more) more = fields[key];
    kind = fields.errorKind;
  }
  const text = more && !error.message.includes(more) ? `${error.message}: ${more}` : error.message;
  return `The agent's request failed (${error.code}): ${text}${typeof kind === 'string' && kind ? ` (${kind})` : ''}`;
}

/**
 * The ACP adapters of Claude Code and Codex tell of a failed model call in a typed way to clients that ask for it (an
 * extension of a vendor: the versions of the adapters are pinned). Without it Codex ends such a turn like a good one.
 */
export const FAILURES_OPT_IN = { jetbrains: { air: { version: 1, capabilities: ['sessionFailure'] } } };

interface Meta {
  jetbrains?: {
    air?: {
      sessionFailure?: { category?: string; severity?: string; title?: string; details?: string; actions?: unknown };
    };
  };
}

/** The failure in the result of a turn, in one sentence; null when there is none. */
export function sessionFailure(turn: Turn): string | null {
  const failure = (turn.response?._meta as Meta | null | undefined)?.jetbrains?.air?.sessionFailure;
  if (failure?.severity !== 'error') return null;
  const title = failure.title?.trim() || 'The agent could not go on';
  const category = isUsageLimit(failure) ? 'usage limit' : failure.category;
  return category ? `${title} (${category})` : title;
}

/**
 * The limit of an account. Those of a session and of its context have the same category, and advise another session.
 */
const isUsageLimit = ({ category, actions }: { category?: string; actions?: unknown }): boolean =>
  category === 'limit' && Array.isArray(actions) && !actions.includes('new_session');
