import type { Config } from '../../config.ts';
import type { AgentName } from '../../contracts/kennel.ts';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { runCommand } from './command.ts';
import { homeLabel } from './docker/containers.ts';
import { connect, type Engine, explained } from './docker/engine.ts';
import { createOwnership, type Ownership, systemFiles, userOf } from './docker/ownership.ts';
import { type Images, images } from './images/image.ts';
import { imageKindOf } from './images/image-files.ts';
import type { CommandResult, Kennel, KennelCommand, RunContainer, StartRun, WorkspaceOpOptions } from './kennel.ts';
import { inspectRun, listRuns, pauseRun, type RunContext, removeRun, startRun, sweepCommands } from './runs.ts';
import { WorkspaceProgram } from './workspace-program.ts';

export type KennelConfig = Pick<
  Config,
  | 'FETCH_HOME'
  | 'FETCH_KENNEL_HOST'
  | 'DOCKER_HOST'
  | 'FETCH_KENNEL_BASE'
  | 'FETCH_KENNEL_SLOTS'
  | 'FETCH_KENNEL_MEMORY_MB'
  | 'FETCH_KENNEL_CPUS'
  | 'FETCH_KENNEL_PIDS'
>;

/** A kennel with the parts that `fetch kennel` shows. */
export interface OpenKennel extends Kennel {
  engine: Engine;
  images: Images;
}

/** Asks the engine nothing before the first call. It needs no closing. */
export const openKennel = (config: KennelConfig): OpenKennel => new HostKennel(config);

/** operations that may create or restore a repository */
const MAKES: ReadonlySet<WorkspaceOp['op']> = new Set(['create', 'conclude', 'undo']);

class HostKennel implements OpenKennel {
  readonly engine: Engine;
  readonly images: Images;
  private readonly config: KennelConfig;
  private readonly ownership: Ownership;
  private readonly program: WorkspaceProgram;
  private cpus: number | null = null;

  constructor(config: KennelConfig) {
    this.config = config;
    this.engine = connect(config);
    this.images = images(this.engine, config);
    this.ownership = createOwnership(
      this.engine,
      () => this.images.provide('tools'),
      () => this.contextOf(null),
    );
    this.program = new WorkspaceProgram({
      command: (command) => this.command(command),
      contextOf: async (workspace) => {
        const context = await this.contextOf(workspace);
        const image = await this.images.provide('tools');
        await this.ownership.settle(workspace);
        return { ...context, image };
      },
    });
  }

  async ready(): Promise<void> {
    await this.engine.facts();
  }

  async provide(agent: AgentName | 'tools', onProgress: (text: string) => void, signal?: AbortSignal): Promise<void> {
    await explained(async () => {
      await this.engine.facts();
      await this.images.provide(imageKindOf(agent), onProgress, { signal });
    });
  }

  async command(command: KennelCommand): Promise<CommandResult> {
    return await explained(async () => {
      const context = await this.contextOf(command.workspace);
      const image = await this.images.provide('tools');
      if (command.workspace !== null && !command.readOnly) await this.ownership.settle(command.workspace);
      return await runCommand({ ...context, image }, command);
    });
  }

  async workspaceOp(workspace: string, op: WorkspaceOp, options: WorkspaceOpOptions = {}): Promise<WorkspaceAnswer> {
    const answer = await this.program.run(workspace, op, options);
    // what the operation created in the folder itself (a repository) belongs to the owner
    if (MAKES.has(op.op)) await explained(() => this.ownership.settle(workspace, { fresh: true }));
    return answer;
  }

  async start(run: StartRun): Promise<string> {
    return await explained(async () => {
      const context = await this.contextOf(run.workspace);
      const image = await this.images.provide(imageKindOf(run.spec.harness));
      await this.ownership.settle(run.workspace, { fresh: true });
      return await startRun(context, image, run);
    });
  }

  inspect(taskId: string, step: number): Promise<RunContainer | null> {
    return explained(async () => inspectRun(await this.contextOf(null), taskId, step));
  }

  remove(taskId: string, step?: number): Promise<boolean> {
    return explained(async () => removeRun(await this.contextOf(null), taskId, step));
  }

  setPaused(taskId: string, step: number, paused: boolean): Promise<boolean> {
    return explained(async () => pauseRun(await this.contextOf(null), taskId, step, paused));
  }

  list(): Promise<RunContainer[]> {
    return explained(async () => listRuns(await this.contextOf(null)));
  }

  sweep(): Promise<number> {
    return explained(async () => sweepCommands(await this.contextOf(null)));
  }

  private async contextOf(workspace: string | null): Promise<RunContext> {
    const { config } = this;
    // asked once, because the engine takes longer to answer this than to create a container
    this.cpus ??= (await this.engine.facts()).cpus;
    const user = await userOf(workspace);
    return {
      engine: this.engine,
      user,
      system: await systemFiles(config.FETCH_HOME, user),
      home: homeLabel(config.FETCH_HOME, config.FETCH_KENNEL_HOST),
      slots: config.FETCH_KENNEL_SLOTS,
      limits: { memoryMb: config.FETCH_KENNEL_MEMORY_MB, cpus: config.FETCH_KENNEL_CPUS, pids: config.FETCH_KENNEL_PIDS, hostCpus: this.cpus },
    };
  }
}
