import { lchown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { imageOf } from '../../../kennel/agents/registry.ts';
import type { Config } from '../../config.ts';
import { type AgentName, INSIDE } from '../../contracts/kennel.ts';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { sideFolder } from '../workspaces.ts';
import { Apps } from './apps/apps.ts';
import { type CommandContext, EMPTY_HOME, endCommand, runCommand, startAttached } from './command.ts';
import { homeLabel, LABEL, unless } from './docker/containers.ts';
import { connect, type Engine, explained } from './docker/engine.ts';
import { createOwnership, type Ownership, systemFiles, userOf } from './docker/ownership.ts';
import type { EnvironmentImages } from './environment/environment-images.ts';
import { homeVariables, runVariables } from './environment/environments.ts';
import type { SetupScripts } from './environment/setup-scripts.ts';
import { WorkspaceImages } from './environment/workspace-images.ts';
import { FetchedPackages } from './fetched.ts';
import { openHostGate, throughGate } from './gate/host-gate.ts';
import type { Images } from './images/image.ts';
import { isLocal } from './images/image-base.ts';
import { type ImageKind, imageKindOf } from './images/image-files.ts';
import type {
  CommandResult,
  EnvironmentAsked,
  Kennel,
  KennelApps,
  KennelCommand,
  KennelProgram,
  Provided,
  RunContainer,
  RunningProgram,
  StartRun,
  WorkspaceOpOptions,
} from './kennel.ts';
import { inspectRun, listRuns, pauseRun, type RunContext, removeRun, startRun, sweepCommands } from './runs.ts';
import { WorkspaceProgram } from './workspace-program.ts';

/** Holding apps and commands, whose containers write to workspaces as those of tasks do. */

/** Names of the containers of apps and commands of a home that run. */
async function runningBesides({ engine, home }: Pick<RunContext, 'engine' | 'home'>): Promise<string[]> {
  const found = await engine.docker.listContainers({
    filters: { label: [`${LABEL.home}=${home}`], status: ['running'] },
  });
  return found
    .filter(({ Labels }) => LABEL.app in Labels || (LABEL.until in Labels && !(LABEL.browser in Labels)))
    .map(({ Names }) => Names[0]!.slice(1));
}

async function setFrozen(
  { engine }: Pick<RunContext, 'engine'>,
  names: readonly string[],
  frozen: boolean,
): Promise<void> {
  // 404: it is gone; 409, 500: it has ended, or is so already
  const settle = (name: string) =>
    (frozen ? engine.docker.getContainer(name).pause() : engine.docker.getContainer(name).unpause()).catch(
      unless(404, 409, 500),
    );
  await Promise.all(names.map(settle));
}

/** A folder that containers of this user can write to. */
async function ownFolder(folder: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (process.getuid?.() === 0) await lchown(folder, uid, gid);
}

type KennelConfig = Pick<
  Config,
  | 'FETCH_HOME'
  | 'FETCH_KENNEL_HOST'
  | 'DOCKER_HOST'
  | 'FETCH_KENNEL_BASE'
  | 'FETCH_KENNEL_SLOTS'
  | 'FETCH_KENNEL_MEMORY_MB'
  | 'FETCH_KENNEL_CPUS'
  | 'FETCH_KENNEL_PIDS'
  | 'FETCH_KENNEL_BUILD_MINUTES'
>;

/** A kennel with the parts that `fetch kennel` shows. */
export interface OpenKennel extends Kennel {
  engine: Engine;
  images: Images;
  environmentImages: EnvironmentImages;
  setupScripts: SetupScripts;
  /** What a container without a workspace is made with. Builds the image when it does not exist. */
  contextFor(kind: ImageKind, onProgress: (text: string) => void, signal?: AbortSignal): Promise<CommandContext>;
}

/** Asks the engine nothing before the first call. It needs no closing. */
export const openKennel = (config: KennelConfig): OpenKennel => new HostKennel(config);

/** operations that may create or restore a repository */
const MAKES: ReadonlySet<WorkspaceOp['op']> = new Set(['create', 'conclude', 'undo']);

/** The copy of a workspace that the operation `base` has made for a task. */
const copyOf = async (workspace: string, key: string): Promise<string> =>
  join(await sideFolder(workspace), `base-${key}`);

class HostKennel implements OpenKennel {
  readonly engine: Engine;
  readonly images: Images;
  readonly environmentImages: EnvironmentImages;
  readonly setupScripts: SetupScripts;
  private readonly all: WorkspaceImages;
  private readonly config: KennelConfig;
  private readonly ownership: Ownership;
  private readonly program: WorkspaceProgram;
  readonly apps: KennelApps;
  private readonly fetched: FetchedPackages;
  private cpus: number | null = null;

  constructor(config: KennelConfig) {
    this.config = config;
    this.engine = connect(config);
    this.fetched = new FetchedPackages(config.FETCH_HOME);
    this.all = new WorkspaceImages(this.engine, config, (workspace, op) => this.workspaceOp(workspace, op));
    this.images = this.all.kennel;
    this.environmentImages = this.all.built;
    this.setupScripts = this.all.scripts;
    this.ownership = createOwnership(
      this.engine,
      () => this.images.provide('tools'),
      () => this.contextOf(null),
    );
    this.apps = this.openApps();
    this.program = new WorkspaceProgram(async (workspace) => {
      const context = await this.contextOf(workspace);
      const image = await this.images.provide('tools');
      await this.ownership.settle(workspace);
      return { ...context, image };
    });
  }

  private openApps(): KennelApps {
    const apps = new Apps(this.config.FETCH_HOME, (workspace) => this.contextOf(workspace));
    return {
      start: (app) =>
        explained(async () => {
          const { image, variables } = await this.all.of('tools', app.workspace);
          await this.ownership.settle(app.workspace);
          const workspace = app.base === undefined ? app.workspace : await copyOf(app.workspace, app.base);
          return await apps.start(image, {
            ...app,
            workspace,
            env: { ...homeVariables(EMPTY_HOME), ...variables, ...app.env },
          });
        }),
      settled: (id, ms, signal) => explained(() => apps.settled(id, ms, signal)),
      link: (id) => explained(() => apps.link(id)),
      list: () => explained(() => apps.list()),
      log: (id, lines) => explained(() => apps.log(id, lines)),
      stop: (id) => explained(() => apps.stop(id)),
      connect: (workspace, port) => explained(() => apps.connect(workspace, port)),
      tend: (ended) => explained(() => apps.tend(ended)),
      release: () => apps.release(),
    };
  }

  async ready(): Promise<void> {
    await this.engine.facts();
  }

  async provide(
    agent: AgentName | 'tools',
    onProgress: (text: string) => void,
    signal?: AbortSignal,
    workspace?: string,
  ): Promise<Provided> {
    return await explained(async () => {
      await this.engine.facts();
      const { notes, image } = await this.all.of(imageKindOf(agent), workspace ?? null, onProgress, signal);
      return { notes, image };
    });
  }

  has(agent: AgentName): Promise<boolean> {
    const image = imageOf(agent);
    return explained(async () => !image || (await isLocal(this.engine, image.name)));
  }

  async contextFor(kind: ImageKind, onProgress: (text: string) => void, signal?: AbortSignal): Promise<CommandContext> {
    const context = await this.contextOf(null);
    return { ...context, image: await this.images.provide(kind, onProgress, { signal }) };
  }

  isPlain(workspace: string): Promise<boolean> {
    return explained(async () => (await this.fetched.of(workspace)) === null && (await this.all.isPlain(workspace)));
  }

  undecided(workspace: string): Promise<EnvironmentAsked | null> {
    return explained(() => this.all.undecided(workspace));
  }

  decide(hash: string, agreed: boolean): Promise<void> {
    return this.all.decide(hash, agreed);
  }

  adoptSetup(...asked: Parameters<Kennel['adoptSetup']>): Promise<string | null> {
    return explained(() => this.all.adoptSetup(...asked));
  }

  async command(command: KennelCommand): Promise<CommandResult> {
    return await explained(async () => {
      const context = await this.contextOf(command.workspace);
      const { image, variables } = await this.all.of(
        'tools',
        command.environment ? command.workspace : null,
        undefined,
        command.signal,
      );
      if (command.workspace !== null && !command.readOnly) await this.ownership.settle(command.workspace);
      const { home } = command;
      const fetched =
        command.environment && command.workspace !== null && home === undefined
          ? await this.fetched.of(command.workspace)
          : null;
      if (home !== undefined) await ownFolder(home, context.user);
      const inside = fetched === null && home === undefined ? EMPTY_HOME : INSIDE.home;
      const env = command.environment
        ? {
            ...(command.gate === undefined ? homeVariables(inside) : runVariables(inside)),
            ...variables,
            ...command.env,
          }
        : command.env;
      if (!command.hosts?.length) {
        const files = command.base === undefined ? {} : { files: await copyOf(command.workspace!, command.base) };
        const reachesOut = command.environment && command.gate !== undefined;
        const argv = reachesOut ? throughGate(command.argv) : command.argv;
        return await runCommand(
          { ...context, image },
          { ...command, argv, env, ...files, ...(fetched !== null && { fetched }) },
        );
      }
      const gate = await openHostGate(this.config.FETCH_HOME, command.hosts);
      try {
        return await runCommand(
          { ...context, image },
          { ...command, env, argv: throughGate(command.argv), gate: gate.folder },
        );
      } finally {
        await gate.close();
      }
    });
  }

  async startProgram(program: KennelProgram): Promise<RunningProgram> {
    return await explained(async () => {
      const [context, image] = await Promise.all([this.contextOf(program.folder), this.images.provide('tools')]);
      if (program.hosts.length === 0) return await startAttached({ ...context, image }, program);
      const gate = await openHostGate(this.config.FETCH_HOME, program.hosts);
      try {
        const running = await startAttached(
          { ...context, image },
          { ...program, argv: throughGate(program.argv), gate: gate.folder },
        );
        return { ...running, close: () => running.close().finally(gate.close) };
      } catch (error) {
        await gate.close();
        throw error;
      }
    });
  }

  endCommand(label: string): Promise<void> {
    return explained(async () => endCommand(await this.contextOf(null), label));
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
      const { image, variables, setup } = await this.all.of(imageKindOf(run.spec.harness), run.workspace);
      const spec = setup.length > 0 ? { ...run.spec, setup } : run.spec;
      await this.ownership.settle(run.workspace, { fresh: true });
      return await startRun(context, image, {
        ...run,
        spec,
        env: { ...runVariables(INSIDE.home), ...variables, ...run.env },
      });
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

  async prune(): Promise<void> {
    await explained(() => this.environmentImages.prune());
    await this.fetched.prune();
  }

  keepFetched(workspace: string, home: string, options: { goesOn?: true } = {}): Promise<void> {
    return this.fetched.keep(workspace, home, options);
  }

  sweep(): Promise<number> {
    return explained(async () => sweepCommands(await this.contextOf(null)));
  }

  runningBesides(): Promise<string[]> {
    return explained(async () => runningBesides(await this.contextOf(null)));
  }

  setFrozen(names: readonly string[], frozen: boolean): Promise<void> {
    return explained(async () => setFrozen(await this.contextOf(null), names, frozen));
  }

  release(): Promise<void> {
    return this.program.release();
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
      limits: {
        memoryMb: config.FETCH_KENNEL_MEMORY_MB,
        cpus: config.FETCH_KENNEL_CPUS,
        pids: config.FETCH_KENNEL_PIDS,
        hostCpus: this.cpus,
      },
    };
  }
}
