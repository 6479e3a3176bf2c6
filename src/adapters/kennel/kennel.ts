import type { HarnessName, RunSpec } from '../../contracts/kennel.ts';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';

/** The containers of one host. `src/adapters/kennel` is the only user of the Docker client. */
export interface Kennel {
  /** Throws KennelUnavailable, which says what to install or start. Cheap: remembered for some seconds. */
  ready(): Promise<void>;
  /** Sees that the image that this harness needs is there, building it where it is not. */
  provide(harness: HarnessName | 'tools', onProgress: (text: string) => void, signal?: AbortSignal): Promise<void>;
  /** Runs one command in a container of its own and removes it. A time-out or an abort kills the container. */
  command(command: KennelCommand): Promise<CommandResult>;
  /** Asks the workspace program. Throws when it ended without an answer. */
  workspaceOp(workspace: string, op: WorkspaceOp, options?: WorkspaceOpOptions): Promise<WorkspaceAnswer>;
  /** Starts the container of a step, or finds the one that is labelled so. The token with which it is told to begin. Throws KennelFull when every place of the host is taken. */
  start(run: StartRun): Promise<string>;
  /** What became of the container of a step; null when there is none. */
  inspect(taskId: string, step: number): Promise<RunContainer | null>;
  /** Kills the container of every step of the task (or of one step), waits until it is gone, and removes it. True when one was running. */
  remove(taskId: string, step?: number): Promise<boolean>;
  /** Freezes or thaws every process of a step; false when it does not run. */
  setPaused(taskId: string, step: number, paused: boolean): Promise<boolean>;
  /** Every container that is labelled as ours on this engine, whatever its state. */
  list(): Promise<RunContainer[]>;
  /** Removes containers of commands that nobody waits for any more, because the process that ran them was killed. How many they were. */
  sweep(): Promise<number>;
}

export interface WorkspaceOpOptions {
  signal?: AbortSignal;
  label?: string;
  /** the container is started at once, and told what to do when this is fulfilled; rejected, nothing is done and the reason thrown */
  after?: Promise<unknown>;
  /** the container is kept for some minutes, for another operation on this workspace */
  keepAs?: string;
  /** the container that was kept under this name is used, where there still is one, and ended */
  kept?: string;
}

export interface KennelCommand {
  /** folder on the host, mounted at /workspace; null mounts nothing */
  workspace: string | null;
  readOnly?: boolean;
  argv: string[];
  /** relative to /workspace */
  cwd?: string;
  env?: Record<string, string>;
  /** a promise: the command starts at once and reads this when it is there */
  stdin?: string | Promise<string>;
  timeoutMs: number;
  /** bytes of stdout and of stderr that are kept, the first half from the beginning and the rest from the end */
  maxOutput: number;
  /** value of the label `fetch.step`: what the command is for */
  label: string;
  /** called with output as it comes */
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
  /** folder on the host with `model.sock` and `egress.sock`, mounted at /run/fetch/gate; without it the container has no way out */
  gate?: string;
  /** folder on the host, mounted at /run/fetch-side: where the workspace program keeps the state of a folder that is no repository; never for agents */
  side?: string;
  signal?: AbortSignal;
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
  /** log-in file of the agent on the host, mounted read only at /run/fetch-login; the spec says `login` then */
  login?: string;
  /** more environment for the harness; never a key */
  env: Record<string, string>;
  /** called when the host has a place for it, before its container is started; not called when every place is taken */
  onPlace?: () => void;
}

export interface RunContainer {
  id: string;
  taskId: string;
  step: number;
  harness: HarnessName;
  state: 'created' | 'running' | 'paused' | 'exited';
  exitCode: number | null;
  /** it was killed, and memory had run out in it */
  outOfMemory: boolean;
  startedAt: string | null;
  /** the last that it wrote outside of its log, when it ended with a code other than 0; only from `inspect` */
  lastOutput?: string;
}

/** No engine answers, or the image cannot be made. `message` says what to do. */
export class KennelUnavailable extends Error {
  override readonly name = 'KennelUnavailable';
}

/** Every place of this host is taken now. */
export class KennelFull extends Error {
  override readonly name = 'KennelFull';
}
