import type { Socket } from 'node:net';
import type { AgentName, RunSpec } from '../../contracts/kennel.ts';
import { UserError } from '../../contracts/user-error.ts';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import type { Told } from '../../domain/texts/say.ts';
import type { MountedSkill } from './skill-folders.ts';

/** The containers of one host. Only `src/adapters/kennel` uses the Docker client. */
export interface Kennel {
  /** Throws KennelUnavailable, which says what to install or start. Cheap: cached for some seconds. */
  ready(): Promise<void>;
  /**
   * Makes sure that the image of this agent exists, and builds it if needed. `workspace`: with the environment that the
   * repository there asks for.
   */
  provide(
    agent: AgentName | 'tools',
    onProgress: (text: string) => void,
    signal?: AbortSignal,
    workspace?: string,
  ): Promise<Provided>;
  /** Whether the image of others that an agent needs is on this engine; true for an agent that needs none. */
  has(agent: AgentName): Promise<boolean>;
  /**
   * Whether commands in this workspace find nothing of others outside of it: no image, script or package that it or a
   * task has brought. Builds nothing.
   */
  isPlain(workspace: string): Promise<boolean>;
  /**
   * What a person must decide before the environment of the repository is used as it asks; null when nothing is left to
   * decide. Builds nothing.
   */
  undecided(workspace: string): Promise<EnvironmentAsked | null>;
  /** Keeps a decision on this host, for every workspace that asks for the same. */
  decide(hash: string, agreed: boolean): Promise<void>;
  /**
   * Builds the image of a workspace with a script to which a person agreed, and keeps the script for every later
   * container there. Returns what the build said when it failed: then everything stays as it was. `id`: of the
   * question; a second call with it returns the result of the first.
   */
  adoptSetup(
    agent: AgentName,
    workspace: string,
    setup: { id: string; script: string },
    onProgress: (text: string) => void,
    signal?: AbortSignal,
  ): Promise<string | null>;
  /** Runs one command in its own container, which is then removed. A time-out or an abort kills the container. */
  command(command: KennelCommand): Promise<CommandResult>;
  /** Starts a program in its own container and speaks with it, until it is closed or its time is over. */
  startProgram(program: KennelProgram): Promise<RunningProgram>;
  /** Ends the commands with this label, whose process was killed. */
  endCommand(label: string): Promise<void>;
  /** Asks the workspace program. Throws when the program ended without an answer. */
  workspaceOp(workspace: string, op: WorkspaceOp, options?: WorkspaceOpOptions): Promise<WorkspaceAnswer>;
  /**
   * Starts the container of a run, or finds it by its label. Returns the token with which the run is told to begin.
   * Throws KennelFull when the host has no free slot.
   */
  start(run: StartRun): Promise<string>;
  /** The state of a run's container; null when there is none. */
  inspect(taskId: string, step: number): Promise<RunContainer | null>;
  /**
   * Kills the containers of a task (or of one run), waits until they are gone, and removes them. True when one was
   * running.
   */
  remove(taskId: string, step?: number): Promise<boolean>;
  /** Freezes or thaws every process of a run; false when it does not run. */
  setPaused(taskId: string, step: number, paused: boolean): Promise<boolean>;
  /** Programs that run until they are stopped. */
  readonly apps: KennelApps;
  /** All containers on this engine with our label, in any state. */
  list(): Promise<RunContainer[]>;
  /**
   * Moves the packages that a task fetched out of its HOME, for later commands in this workspace. Its containers must be
   * gone. `goesOn`: the task will need them again, so they are copied.
   */
  keepFetched(workspace: string, home: string, options?: { goesOn?: true }): Promise<void>;
  /** Removes images of repositories, and packages of tasks, that nobody used for two weeks. */
  prune(): Promise<void>;
  /** Removes containers of commands whose process was killed, so that nobody waits for them. Returns how many. */
  sweep(): Promise<number>;
  /** Ends the containers that wait for another operation on their workspace. */
  release(): Promise<void>;
  /** Names of the containers of apps and commands that run. */
  runningBesides(): Promise<string[]>;
  /** Freezes these containers, or lets them go on, if they are still there. */
  setFrozen(names: readonly string[], frozen: boolean): Promise<void>;
}

export interface KennelApps {
  /**
   * Starts an app, or finds the one that the same call started. Returns its id. Throws KennelFull when too many run.
   */
  start(app: StartApp): Promise<string>;
  /**
   * Opens a link to a running app for one device in the owner's network, for an hour. `until`: epoch ms. Null when the
   * app does not listen, or this machine is in no network.
   */
  link(id: string): Promise<{ url: string; until: number } | null>;
  /** Waits until an app listens on a port, or has ended; null when it is gone. */
  settled(id: string, ms: number, signal: AbortSignal): Promise<App | null>;
  list(): Promise<App[]>;
  /** The last lines of its output, of at most 10 MB that are kept. */
  log(id: string, lines: number): Promise<string>;
  /** False when it is not there. */
  stop(id: string): Promise<boolean>;
  /**
   * A connection to the running app of this workspace that listens on this port; null when there is none. It is paused.
   */
  connect(workspace: string, port: number): Promise<Socket | null>;
  /**
   * Opens previews that an earlier process had, and removes what ended an hour ago or has lost its workspace. Returns
   * what is left. `ended` hears of every app that has ended by itself, in each round, before it is removed.
   */
  tend(ended?: (app: App) => Promise<void>): Promise<App[]>;
  /** Closes the previews of this process. The apps run on. */
  release(): Promise<void>;
}

export interface StartApp {
  callId: string;
  /** folder on the host */
  workspace: string;
  argv: string[];
  /** the same for people */
  command: string;
  /** the port that it listens on; the first that it opens when left out */
  port?: number;
  env: Record<string, string>;
  /** key of a task: it runs on the copy that the operation `base` has made, and is in no list; it ends with the copy */
  base?: string;
  /** relative to /workspace */
  cwd?: string;
}

export interface App {
  id: string;
  callId: string;
  workspace: string;
  /** name of the workspace */
  name: string;
  command: string;
  state: 'running' | 'exited';
  exitCode: number | null;
  outOfMemory: boolean;
  startedAt: string;
  /** epoch ms */
  endedAt: number | null;
  /** the app's own port; null until it listens */
  appPort: number | null;
  previewPort: number;
  /** where a browser on this machine finds it; null until it listens */
  address: string | null;
}

/** The part of a repository's environment that runs code of others. */
export interface EnvironmentAsked {
  /** of everything that is asked for */
  hash: string;
  /** where it is asked for */
  file: string;
  /** all of it: image, Dockerfile, commands */
  text: string;
}

export interface Provided {
  /** sentences for the person: what the repository asked for and does not get */
  notes: Told[];
  /** id of the image; another environment has another */
  image: string;
}

export interface WorkspaceOpOptions {
  signal?: AbortSignal;
  /**
   * the container starts at once, and gets its operation when this is fulfilled; if it is rejected, nothing is done and
   * the reason is thrown
   */
  after?: Promise<unknown>;
}

export interface KennelCommand {
  /** folder on the host, mounted at /workspace; null mounts nothing */
  workspace: string | null;
  readOnly?: boolean;
  /** key of a task: it runs on the copy that the operation `base` has made, and not on the workspace's own files */
  base?: string;
  /**
   * it runs in the environment that the repository asks for, and not in the image of the tools, with the packages that
   * tasks fetched there
   */
  environment?: boolean;
  /** folder on the host that is HOME there and stays, for `keepFetched`; its owner is that of the workspace */
  home?: string;
  argv: string[];
  /** relative to /workspace */
  cwd?: string;
  env?: Record<string, string>;
  /** a promise: the command starts at once, and reads this when it is fulfilled */
  stdin?: string | Promise<string>;
  timeoutMs: number;
  /** how much of stdout and of stderr is kept, in bytes: half from the beginning, the rest from the end */
  maxOutput: number;
  /** value of the label `fetch.step`: the purpose of the command */
  label: string;
  /** called with output as it comes */
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
  /**
   * folder on the host with `model.sock` and `egress.sock`, mounted at /run/fetch/gate; without it the container has no
   * way out
   */
  gate?: string;
  /** hosts that it may reach, without anybody being asked */
  hosts?: readonly string[];
  /** mounted read only at /skills */
  skills?: readonly MountedSkill[];
  /**
   * folder on the host, mounted at /run/fetch-side, where the workspace program saves the state of a folder that is no
   * repository; never for agents
   */
  side?: string;
  signal?: AbortSignal;
}

export interface KennelProgram {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  /** folder on the host, mounted at /workspace to be read; null mounts nothing */
  folder: string | null;
  /** hosts that it may reach; without any it has no network */
  hosts: readonly string[];
  timeoutMs: number;
  /** value of the label `fetch.step` */
  label: string;
  onStdout: (bytes: Buffer) => void;
  onStderr: (bytes: Buffer) => void;
  /** it ended by itself, or its time was over */
  onEnd: () => void;
}

export interface RunningProgram {
  write(text: string): void;
  /** Ends the container. */
  close(): Promise<void>;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** output was longer than `maxOutput` */
  cut: boolean;
  timedOut: boolean;
  outOfMemory: boolean;
}

export interface StartRun {
  spec: RunSpec;
  /** run folder on the host, mounted at /run/fetch */
  runFolder: string;
  /** workspace on the host, mounted at /workspace */
  workspace: string;
  /** log-in file of the agent on the host, mounted read only at /run/fetch-login; the spec then has `login` */
  login?: string;
  /** mounted read only at /skills */
  skills?: readonly MountedSkill[];
  /** further environment variables for the agent; never a key */
  env: Record<string, string>;
  /** called when the host has a free slot, before the container starts; not called when it has none */
  onSlot?: () => void;
}

export interface RunContainer {
  id: string;
  taskId: string;
  step: number;
  harness: AgentName;
  state: 'created' | 'running' | 'paused' | 'exited';
  exitCode: number | null;
  /** it was killed because its memory ran out */
  outOfMemory: boolean;
  startedAt: string | null;
  /** the last output outside its log, when it ended with a code other than 0; set only by `inspect` */
  lastOutput?: string;
}

/** No engine answers, or the image cannot be built. `message` says what to do. */
export class KennelUnavailable extends UserError {
  override readonly name = 'KennelUnavailable';
}

/** The host has no free slot. */
export class KennelFull extends Error {
  override readonly name = 'KennelFull';
}
