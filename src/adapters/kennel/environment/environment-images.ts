import { createHash } from 'node:crypto';
import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../../config.ts';
import type { CopiedContent } from '../../../contracts/environment.ts';
import { DAY, MINUTE } from '../../../domain/time.ts';
import { unless } from '../docker/containers.ts';
import { containerUser, type Engine } from '../docker/engine.ts';
import { isLocal } from '../images/image-base.ts';
import { withLock } from '../images/image-build.ts';
import type { ImageKind } from '../images/image-files.ts';
import { agreedFiles, type BuildLimits, buildEnvironment, EnvironmentFailed, LABEL } from './environment-build.ts';
import { dockerfileOf, filesOf, type Recipe } from './recipe.ts';

const REPOSITORY = 'fetch-kennel-env';
/** Images of environments that nobody used for this long are removed. */
const UNUSED_MS = 14 * DAY;
/** How often the last use of an image is written down. */
const NOTE_MS = 60_000;

/** A build that failed is not tried again for this long: every command of the workspace would wait for it. */
const FAILED_MS = 10 * MINUTE;
interface EnvironmentImage {
  name: string;
  /** languages and services, as they were asked for */
  title: string;
  bytes: number;
  /** null: not by this home */
  usedAt: Date | null;
}

export type ImagesConfig = Pick<Config, 'FETCH_HOME' | 'FETCH_KENNEL_BASE'> & BuildLimits;

/** An image that is wanted. */
export interface Wanted {
  kind: ImageKind;
  /** image of the kennel that it is made upon */
  kennel: string;
  recipe: Recipe;
  /** reads what is in the files that the recipe copies; called only when something is built */
  contents(): Promise<CopiedContent[]>;
}

/** Images that are made for repositories. They are shared by every workspace with the same recipe. */
export class EnvironmentImages {
  private readonly engine: Engine;
  private readonly config: ImagesConfig;
  private readonly building = new Map<string, { done: Promise<void>; listeners: Set<(text: string) => void> }>();
  private readonly noted = new Map<string, number>();
  private readonly failed = new Map<string, { at: number; error: EnvironmentFailed }>();

  constructor(engine: Engine, config: ImagesConfig) {
    this.engine = engine;
    this.config = config;
  }

  /** Name of the image; builds it when it does not exist. @throws EnvironmentFailed */
  async provide(wanted: Wanted, onProgress: (text: string) => void, signal?: AbortSignal): Promise<string> {
    const name = await this.nameOf(wanted);
    if (!(await isLocal(this.engine, name))) await this.built(wanted, name, onProgress, signal);
    await this.note(name);
    return name;
  }

  async list(): Promise<EnvironmentImage[]> {
    const found = await this.engine.docker.listImages({ filters: { label: [LABEL] } });
    return await Promise.all(
      found.flatMap(({ RepoTags, Labels, Size }) =>
        (RepoTags ?? [])
          .filter((name) => name.startsWith(`${REPOSITORY}:`))
          .map(async (name) => ({ name, title: Labels?.[LABEL] ?? '', bytes: Size, usedAt: await this.usedAt(name) })),
      ),
    );
  }

  /** Removes images that were not used for two weeks, or all that no container uses. Returns their names. */
  async prune(everything = false): Promise<string[]> {
    const [images, containers] = await Promise.all([
      this.engine.docker.listImages({ filters: { label: [LABEL] } }),
      this.engine.docker.listContainers({ all: true }),
    ]);
    const inUse = new Set(containers.map(({ ImageID }) => ImageID));
    const removed: string[] = [];
    for (const { Id, RepoTags, Created } of images) {
      for (const name of (RepoTags ?? []).filter((each) => each.startsWith(`${REPOSITORY}:`))) {
        const last = Math.max(Created * 1000, (await this.usedAt(name))?.getTime() ?? 0);
        if (inUse.has(Id) || (!everything && Date.now() - last < UNUSED_MS)) continue;
        // 409: a container was just created from it
        await this.engine.docker.getImage(name).remove().catch(unless(404, 409));
        await rm(this.fileOf(name), { force: true });
        removed.push(name);
      }
    }
    return removed;
  }

  /**
   * Depends on all that the image is made from, also on the very image of the kennel, so that an update of that renews
   * this one.
   */
  private async nameOf({ kennel, recipe }: Wanted): Promise<string> {
    const [{ Id }, base] = await Promise.all([this.engine.docker.getImage(kennel).inspect(), this.baseId(recipe)]);
    const dockerfile = dockerfileOf(recipe, { base: base ?? 'own', kennel: Id, user: containerUser() });
    return `${REPOSITORY}:${hashOf([dockerfile, recipe.base, filesOf(recipe)])}`;
  }

  private async baseId({ base }: Recipe): Promise<string | null> {
    if (base?.image) return base.image;
    return base ? null : this.config.FETCH_KENNEL_BASE;
  }

  private async built(
    wanted: Wanted,
    name: string,
    onProgress: (text: string) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    // a second task waits for the running build and hears its progress
    const failed = this.failed.get(name);
    if (failed && Date.now() - failed.at < FAILED_MS) throw failed.error;
    const joined = this.building.get(name);
    const running = joined ?? { done: Promise.resolve(), listeners: new Set<(text: string) => void>() };
    running.listeners.add(onProgress);
    if (!joined) {
      const tell = (text: string) => {
        for (const listener of running.listeners) listener(text);
      };
      running.done = this.buildLocked(wanted, name, tell, signal).finally(() => this.building.delete(name));
      this.building.set(name, running);
    }
    try {
      await running.done;
    } catch (error) {
      if (error instanceof EnvironmentFailed) this.failed.set(name, { at: Date.now(), error });
      // the task that started the build was stopped; this one was not
      if (joined && (error as Error).name === 'AbortError' && !signal?.aborted)
        return await this.built(wanted, name, onProgress, signal);
      throw error;
    } finally {
      running.listeners.delete(onProgress);
    }
  }

  private async buildLocked(
    wanted: Wanted,
    name: string,
    tell: (text: string) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const { kind, kennel, recipe } = wanted;
    const waiting = () => tell('Another process builds an image: waiting for it');
    await withLock('fetch-kennel-build', waiting, signal, async () => {
      if (await isLocal(this.engine, name)) return;
      const base = await this.ownBase(wanted, tell, signal);
      const dockerfile = dockerfileOf(recipe, {
        base: base ?? this.config.FETCH_KENNEL_BASE,
        kennel,
        user: containerUser(),
      });
      const files = Object.entries(filesOf(recipe)).map(([path, content]) => ({ path, content }));
      await buildEnvironment(
        this.engine,
        this.config,
        { name, label: `${recipe.title} (${kind})`, dockerfile, files },
        tell,
        signal,
      );
    });
  }

  /** The base that the repository brings: an image of a registry, or one that its Dockerfile makes. */
  private async ownBase(
    { recipe: { base }, contents }: Wanted,
    tell: (text: string) => void,
    signal?: AbortSignal,
  ): Promise<string | null> {
    if (!base) return null;
    if (base.dockerfile === null) return base.image;
    const name = `${REPOSITORY}:base-${hashOf(base)}`;
    if (await isLocal(this.engine, name)) return name;
    const files = base.copied.length > 0 ? agreedFiles(base.copied, await contents()) : [];
    const { dockerfile, args } = base;
    await buildEnvironment(
      this.engine,
      this.config,
      { name, label: 'Dockerfile of a repository', dockerfile, files, args },
      tell,
      signal,
    );
    return name;
  }

  private fileOf(name: string): string {
    return join(this.config.FETCH_HOME, 'kennel', 'environments', 'used', name.split(':')[1]!);
  }

  private async usedAt(name: string): Promise<Date | null> {
    return (await stat(this.fileOf(name)).catch(() => null))?.mtime ?? null;
  }

  private async note(name: string): Promise<void> {
    if (Date.now() - (this.noted.get(name) ?? 0) < NOTE_MS) return;
    this.noted.set(name, Date.now());
    const file = this.fileOf(name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '', { flag: 'a' });
    await utimes(file, new Date(), new Date());
  }
}

const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
