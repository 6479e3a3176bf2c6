import type { AgentName } from '../../../contracts/kennel.ts';
import type { WorkspaceAnswer, WorkspaceOp } from '../../../contracts/workspace-ops.ts';
import type { Told } from '../../../domain/texts/say.ts';
import type { Engine } from '../docker/engine.ts';
import { type ImageConfig, type Images, images } from '../images/image.ts';
import { type ImageKind, imageKindOf } from '../images/image-files.ts';
import type { EnvironmentAsked } from '../kennel.ts';
import { EnvironmentFailed } from './environment-build.ts';
import { EnvironmentImages, type ImagesConfig, type Wanted } from './environment-images.ts';
import { type Environment, Environments } from './environments.ts';

type Progress = (text: string) => void;

/** The image for a workspace, and what its container is made with. */
interface WorkspaceImage extends Pick<Environment, 'variables' | 'setup' | 'notes'> {
  image: string;
}

/** The images of a host: those of the kennel itself, and upon them those that repositories ask for. */
export class WorkspaceImages {
  readonly kennel: Images;
  readonly built: EnvironmentImages;
  private readonly environments: Environments;

  /** `ask` asks the workspace program, in a container. */
  constructor(
    engine: Engine,
    config: ImageConfig & ImagesConfig,
    ask: (workspace: string, op: WorkspaceOp) => Promise<WorkspaceAnswer>,
  ) {
    this.kennel = images(engine, config);
    this.built = new EnvironmentImages(engine, config);
    this.environments = new Environments(config.FETCH_HOME, (workspace, op) => ask(workspace, { op }));
  }

  get scripts(): Environments['scripts'] {
    return this.environments.scripts;
  }

  /** One that cannot be made is replaced by the kennel's own, because most work can be done there. */
  async of(
    kind: ImageKind,
    workspace: string | null,
    onProgress: Progress = () => {},
    signal?: AbortSignal,
  ): Promise<WorkspaceImage> {
    const kennel = await this.kennel.provide(kind, onProgress, { signal });
    if (workspace === null) return { image: kennel, variables: {}, setup: [], notes: [] };
    const { choices, variables, setup, notes } = await this.environments.of(workspace);
    const lost: Told[] = [];
    for (const { recipe, notes: versions, lost: without } of choices) {
      const made = (image: string): WorkspaceImage => ({
        image,
        variables,
        setup,
        notes: [...lost, ...versions, ...notes],
      });
      if (!recipe) return made(kennel);
      try {
        return made(await this.build(workspace, { kind, kennel, recipe }, onProgress, signal));
      } catch (error) {
        if (!(error instanceof EnvironmentFailed)) throw error;
        lost.push(without === null ? error.tell : (say) => `${without(say)} ${error.why}`);
      }
    }
    return { image: kennel, variables, setup, notes: [...lost, ...notes] };
  }

  /** Languages and services are of the distribution; a base, a script or commands of a repository are of others. */
  async isPlain(workspace: string): Promise<boolean> {
    const { choices, setup } = await this.environments.of(workspace);
    return setup.length === 0 && choices.every(({ recipe }) => !recipe?.base && (recipe?.script ?? null) === null);
  }

  async undecided(workspace: string): Promise<EnvironmentAsked | null> {
    return (await this.environments.of(workspace)).undecided;
  }

  decide(hash: string, agreed: boolean): Promise<void> {
    return this.environments.decide(hash, agreed);
  }

  /** See `Kennel.adoptSetup`. */
  async adoptSetup(
    agent: AgentName,
    workspace: string,
    { id, script }: { id: string; script: string },
    onProgress: Progress,
    signal?: AbortSignal,
  ): Promise<string | null> {
    const known = await this.scripts.outcome(workspace, id);
    if (known !== undefined) return known;
    const kind = imageKindOf(agent);
    const kennel = await this.kennel.provide(kind, onProgress, { signal });
    const at = await this.usable(workspace, { kind, kennel }, onProgress, signal);
    const { choices } = await this.environments.of(workspace, script);
    const recipe = choices[at]!.recipe!;
    const failed = await this.build(workspace, { kind, kennel, recipe }, onProgress, signal).then(
      () => null,
      (error) => {
        if (error instanceof EnvironmentFailed) return error.why;
        throw error;
      },
    );
    await this.scripts.conclude(workspace, id, script, failed);
    return failed;
  }

  /** Index of the choice that its containers have now. */
  private async usable(
    workspace: string,
    at: Pick<Wanted, 'kind' | 'kennel'>,
    onProgress: Progress,
    signal?: AbortSignal,
  ): Promise<number> {
    const { choices } = await this.environments.of(workspace);
    for (const [index, { recipe }] of choices.slice(0, -1).entries()) {
      const builds = await this.build(workspace, { ...at, recipe: recipe! }, onProgress, signal).then(
        () => true,
        (error) => {
          if (error instanceof EnvironmentFailed) return false;
          throw error;
        },
      );
      if (builds) return index;
    }
    return choices.length - 1;
  }

  private build(
    workspace: string,
    wanted: Omit<Wanted, 'contents'>,
    onProgress: Progress,
    signal?: AbortSignal,
  ): Promise<string> {
    return this.built.provide({ ...wanted, contents: () => this.environments.contents(workspace) }, onProgress, signal);
  }
}
