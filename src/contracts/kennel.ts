/**
 * What crosses the wall of a container. A run folder on the host is mounted at `/run/fetch`, the workspace at
 * `/workspace`; nothing else, but for the log-in file of an agent where the settings name one. Three files carry the whole
 * conversation, so that neither side needs the other to be alive:
 *
 * - `spec.json`: what to do; written before the container of a step is started
 * - `log.ndjson`: one `LogLine` a line, appended only by the runner inside
 * - `commands.ndjson`: one `Command` a line, appended only by workers outside
 *
 * and `gate/model.sock`, `gate/egress.sock` are the only ways out (`src/adapters/kennel/gate`).
 */

export const HARNESSES = ['claude', 'codex', 'gemini', 'copilot', 'opencode', 'practice'] as const;
export type HarnessName = (typeof HARNESSES)[number];

/** Paths inside the container. */
export const INSIDE = {
  workspace: '/workspace',
  run: '/run/fetch',
  /** HOME of the agent: kept with the run, so that a session can be resumed after the container is gone */
  home: '/run/fetch/home',
  spec: '/run/fetch/spec.json',
  log: '/run/fetch/log.ndjson',
  commands: '/run/fetch/commands.ndjson',
  modelSocket: '/run/fetch/gate/model.sock',
  egressSocket: '/run/fetch/gate/egress.sock',
  /** the agent's own log-in file, read only; there when the spec says so */
  login: '/run/fetch-login',
  /** loopback port that the runner forwards to the model socket; paths: /anthropic, /openai/v1, /gemini */
  modelPort: 4010,
  /** loopback port that the runner forwards to the egress socket: an HTTP proxy (CONNECT) */
  egressPort: 4011,
} as const;

/** `spec.json`: one step of a run. A run has a further step each time its session goes on in a new container. */
export interface RunSpec {
  version: 1;
  taskId: string;
  /** from 1 */
  step: number;
  harness: HarnessName;
  prompt: string;
  /** the session to go on with; null begins one */
  sessionId: string | null;
  /** the prompt of a session that begins again because the one to go on with is lost; without it that is a failure */
  anew?: string;
  /** model name for the harness; null is its own default */
  model: string | null;
  /** `ask`: what the harness wants to do is asked for first; `run`: it is not */
  permissions: 'ask' | 'run';
  /** ms that a question holds the agent's call before the runner ends the session with `parked` */
  holdMs: number;
  /** the harness has a log-in of its own (`INSIDE.login`) and uses neither the model proxy nor its key */
  login?: boolean;
  /** folder of the working tree inside of the workspace, where that is another one than the workspace's own */
  worktree?: string;
  /** ms without a process of the host, as `INSIDE.modelSocket` tells, after which the harness is held still until there is one again */
  aloneMs?: number;
  /** nothing of the harness is started before the command `begin` with the token of this container */
  waits?: boolean;
}

/** Environment variable of a run container: which of all that were ever made for its step it is. */
export const TOKEN = 'FETCH_RUN_TOKEN';

/** Where the worktree of a task is, inside of its workspace. */
export const worktreeOf = (taskId: string): string => `.git/fetch-worktrees/${taskId}`;

/** `seq` counts from 1 over all steps of a run and has no gap; `at` is RFC 3339. */
export type LogLine = { seq: number; at: string; step: number } & LogEvent;

export type LogEvent =
  /** the runner is up and starts the harness */
  | { type: 'started'; harness: HarnessName; version: string | null }
  /** the session that a later step can resume */
  | { type: 'session'; sessionId: string; resumed: boolean }
  /** what the agent says, in pieces of some hundred characters; `messageId` tells which pieces belong together */
  | { type: 'text'; messageId: string; text: string }
  /** a tool of the agent, each time something about it changes; `title` is one line */
  | { type: 'tool'; id: string; title: string; kind: string; status: 'pending' | 'in_progress' | 'completed' | 'failed'; detail?: string; paths?: string[] }
  | { type: 'plan'; entries: Array<{ content: string; status: string }> }
  /** the agent asks the person (`ask_human`) and waits */
  | { type: 'question'; id: string; question: string; options: string[] }
  /** the harness wants to do something that needs consent, and waits; `command` or `diff` as far as it is known */
  | { type: 'permission'; id: string; title: string; kind: string; command?: string; diff?: string; paths?: string[] }
  /** a question or permission is settled, by an answer of `commands.ndjson` */
  | { type: 'settled'; id: string; how: string }
  /** what the harness itself claims to have used; the gate's figures are the ones that count */
  | { type: 'usage'; inputTokens: number; outputTokens: number }
  /** warnings, retries, and the last of what a harness wrote to stderr */
  | { type: 'note'; level: 'info' | 'warn'; text: string }
  /** the step is over; always the last line of a step, missing when the runner was killed */
  | { type: 'ended'; outcome: RunOutcome; reason: string };

/**
 * `completed`: the harness ended its turn without an error of its own. `parked`: a question waited longer than `holdMs`; a later
 * step resumes the session with the answer as its prompt. `failed`: `reason` says why in one sentence.
 */
export type RunOutcome = 'completed' | 'failed' | 'cancelled' | 'parked';

/** A line of `commands.ndjson`. A line that was written twice has the same `id` and counts once; lines of another step are ignored. */
export type Command = { id: string; step: number } & (
  | { type: 'answer'; questionId: string; answer: string }
  | { type: 'permit'; permissionId: string; decision: 'allow' | 'deny' }
  /**
   * for a step that `waits`: the container with this token (`TOKEN` in its environment) begins, any other ends. An engine that dies while it starts
   * a container may leave it running and know nothing of it. A container of an earlier step that is left somewhere ends as well.
   */
  | { type: 'begin'; token: string }
  /** end the turn and the session in order; the container is killed anyhow a little later */
  | { type: 'cancel' }
);
