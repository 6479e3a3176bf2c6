/**
 * What crosses the boundary of a container. The host mounts the task's folder at `/run/fetch` and the workspace at
 * `/workspace`, and nothing else, except an agent's log-in file where the settings name one. Host and container talk
 * through three files, so either side can restart without the other:
 *
 * - `spec.json`: what to do; written before the container starts
 * - `log.ndjson`: one `LogLine` a line, appended only by the runner inside
 * - `commands.ndjson`: one `Command` a line, appended only by workers outside
 *
 * `gate/model.sock`, `gate/egress.sock` and `gate/mcp.sock` are the only ways out (`src/adapters/kennel/gate`).
 *
 * A task has one run for each container that it needs: a further one each time its session continues in a new
 * container. `step` is the number of the run. The name stays, because files and containers of an earlier release have
 * it.
 */

/**
 * The coding agents, the preferred one first. What the host knows of each stands in `kennel/agents`, in a folder of its
 * name.
 */
export const AGENT_NAMES = ['claude', 'codex', 'gemini', 'copilot', 'opencode', 'nanoclaw', 'practice'] as const;
export type AgentName = (typeof AGENT_NAMES)[number];

/** Paths inside the container. */
export const INSIDE = {
  workspace: '/workspace',
  run: '/run/fetch',
  /** HOME of the agent. It lies in the task's folder, so that a session can be resumed after the container is gone. */
  home: '/run/fetch/home',
  spec: '/run/fetch/spec.json',
  log: '/run/fetch/log.ndjson',
  commands: '/run/fetch/commands.ndjson',
  modelSocket: '/run/fetch/gate/model.sock',
  egressSocket: '/run/fetch/gate/egress.sock',
  /** MCP servers of the owner, each under the path of its name */
  mcpSocket: '/run/fetch/gate/mcp.sock',
  /** the agent's own log-in file, read only; mounted when the spec says so */
  login: '/run/fetch-login',
  /** packages that tasks of the workspace fetched, read only; where there are any, HOME of a command is `home` */
  fetched: '/run/fetch-fetched',
  /** skills of the owner, each in a folder of its name, read only */
  skills: '/skills',
  /** where the program `fetch-setup` hands in a script */
  setupSocket: '/tmp/fetch-setup.sock',
  /** loopback port that the runner forwards to the model socket; paths: /anthropic, /openai/v1, /gemini */
  modelPort: 4010,
  /** loopback port that the runner forwards to the egress socket: an HTTP proxy (CONNECT) */
  egressPort: 4011,
} as const;

/** The chat of a task, for an agent whose protocol has chats. */
export interface ChatOfRun {
  /** its address on its channel */
  jid: string;
  /** name of the workspace */
  folder: string;
  /** only the owner reads it */
  main: boolean;
  /** a schedule has begun the task */
  scheduled: boolean;
  assistant: string;
}

/** `spec.json`: one run of a task. */
export interface RunSpec {
  version: 1;
  taskId: string;
  /** number of the run, from 1 */
  step: number;
  harness: AgentName;
  prompt: string;
  /** the session to resume; null starts one */
  sessionId: string | null;
  /** the prompt of a new session when the one to resume is lost; without it a lost session is a failure */
  restartPrompt?: string;
  /** model name for the agent; null is its own default */
  model: string | null;
  /** `ask`: the agent asks before it acts; `run`: it does not */
  permissions: 'ask' | 'run';
  /** how long a question holds the agent's call, in ms, before the runner ends the session with `parked` */
  holdMs: number;
  /** the agent has its own log-in (`INSIDE.login`) and uses neither the model proxy nor its key */
  login?: boolean;
  /** folder of the working tree inside the workspace, when it is not the workspace itself */
  worktree?: string;
  /**
   * ms without a host process (seen at `INSIDE.modelSocket`) after which the agent is frozen until a host process is
   * back
   */
  freezeAfterMs?: number;
  /**
   * the agent makes a plan: the workspace is mounted read only, and the agent is in its own mode for plans where it has
   * one
   */
  plan?: true;
  /** the script that the agent proposed last and that came to nothing: `fetch-setup` gives this answer to it */
  proposed?: { sha256: string; answer: string };
  /** shell lines that prepare the workspace before the agent begins, to which a person agreed */
  setup?: string[];
  /** names of MCP servers of the owner, which the agent reaches through `INSIDE.mcpSocket` */
  mcp?: string[];
  /** where its image has the workspace, when that is not `INSIDE.workspace` */
  workspace?: string;
  /** for an agent that wants to know */
  chat?: ChatOfRun;
  /** ids of words of a person (`tell`) that the prompts have already */
  words?: string[];
  /** start nothing of the agent before the command `begin` with the token of this container */
  waits?: boolean;
}

/** Environment variable of a run's container: tells it apart from other containers that were made for the same run. */
export const TOKEN = 'FETCH_RUN_TOKEN';

/** Environment variable of an image: hash of the setup script that it was made with. */
export const SETUP_PRESENT = 'FETCH_SETUP';
/** `kind` of a permission that asks for a setup script: `command` is the script, and a person sees all of it. */
export const SETUP = 'setup';
/** Longest setup script. */
export const SETUP_BYTES = 16 * 1024;

/** Where the worktree of a task is, inside of its workspace. */
export const worktreeOf = (taskId: string): string => `.git/fetch-worktrees/${taskId}`;

/** `seq` counts from 1 over all runs of a task, without a gap. `at` is RFC 3339. */
export type LogLine = { seq: number; at: string; step: number } & LogEvent;

export type LogEvent =
  /** the runner is up and starts the agent */
  | { type: 'started'; harness: AgentName; version: string | null }
  /** the session that a later run can resume */
  | { type: 'session'; sessionId: string; resumed: boolean }
  /** what the agent says, in chunks of some hundred characters; chunks of one message share `messageId` */
  | { type: 'text'; messageId: string; text: string }
  /** a tool call of the agent, once for each change; `title` is one line */
  | {
      type: 'tool';
      id: string;
      title: string;
      kind: string;
      status: 'pending' | 'in_progress' | 'completed' | 'failed';
      detail?: string;
      paths?: string[];
    }
  | { type: 'plan'; entries: Array<{ content: string; status: string }> }
  /**
   * the plan that the agent hands in with a tool of its own; without this line its plan is the last message of the run
   */
  | { type: 'proposal'; text: string }
  /** the agent asks the person (`ask_human`) and waits */
  | { type: 'question'; id: string; question: string; options: string[] }
  /** the agent wants to do something that needs consent, and waits; `command` or `diff` as far as known */
  | { type: 'permission'; id: string; title: string; kind: string; command?: string; diff?: string; paths?: string[] }
  /** a question or permission was settled by an answer from `commands.ndjson` */
  | { type: 'settled'; id: string; how: string }
  /** the agent has the words of a person with these ids in its prompt */
  | { type: 'told'; ids: string[] }
  /** what the agent says it used; only the gate's figures count */
  | { type: 'usage'; inputTokens: number; outputTokens: number }
  /** warnings, retries, and the last lines of the agent's stderr */
  | { type: 'note'; level: 'info' | 'warn'; text: string }
  /** the step is over; always the last line of a step, missing when the runner was killed */
  | { type: 'ended'; outcome: RunOutcome; reason: string };

/**
 * `completed`: the agent ended its turn without an error of its own. `parked`: a question waited longer than `holdMs`;
 * a later step resumes the session with the answer as its prompt. `failed`: `reason` says why in one sentence.
 */
export type RunOutcome = 'completed' | 'failed' | 'cancelled' | 'parked';

/**
 * A line of `commands.ndjson`. A line that was written twice has the same `id` and counts once. Lines of another run
 * are ignored.
 */
export type Command = { id: string; step: number } & (
  | { type: 'answer'; questionId: string; answer: string }
  | { type: 'permit'; permissionId: string; decision: 'allow' | 'deny' }
  /** words of a person, which the agent receives as its next prompt, when its present turn has ended */
  | { type: 'tell'; wordsId: string; text: string }
  /**
   * for a run that `waits`: the container with this token (`TOKEN` in its environment) begins, and any other container
   * ends, also one of an earlier run. An engine that dies while it starts a container may leave it running without
   * knowing of it.
   */
  | { type: 'begin'; token: string }
  /** end the turn and the session cleanly; the container is killed shortly after in any case */
  | { type: 'cancel' }
);
