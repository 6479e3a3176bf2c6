import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Config } from '../../../config.ts';
import { unless } from '../docker/containers.ts';
import { containerUser, type Engine } from '../docker/engine.ts';
import { isLocal } from '../images/image-base.ts';
import { buildFrom } from '../images/image-build.ts';
import type { ImageKind } from '../images/image-files.ts';
import { withLock } from '../images/image-lock.ts';
import { dockerfileOf, OTHER_SYSTEM, type Recipe, scriptFiles } from './recipe.ts';

const REPOSITORY = 'fetch-kennel-env';
const LABEL = 'fetch.environment';
/** Images of environments that nobody used for this long are removed. */
const UNUSED_MS = 14 * 86_400_000;
/** How often the last use of an image is written down. */
const NOTE_MS = 60_000;

/** A build that failed is not tried again for this long: every command of the workspace would wait for it. */
const FAILED_MS = 10 * 60_000;
/** How much of what a failed build said is shown, in characters. */
const SAID_CHARS = 600;

/** An image could not be made. `message` says so in sentences. The work goes on without it. */
export class EnvironmentFailed extends Error {
  override readonly name = 'EnvironmentFailed';
}

export interface EnvironmentImage {
  name: string;
  /** languages and services, as they were asked for */
  title: string;
  bytes: number;
  /** null: not by this home */
  usedAt: Date | null;
}

/** Images that are made for repositories. They are shared by every workspace with the same recipe. */
export class EnvironmentImages {
  private readonly engine: Engine;
  private readonly config: Pick<Config, 'FETCH_HOME' | 'FETCH_KENNEL_BASE'>;
  private readonly building = new Map<string, { done: Promise<void>; listeners: Set<(text: string) => void> }>();
  private readonly noted = new Map<string, number>();
  private readonly failed = new Map<string, { at: number; error: EnvironmentFailed }>();

  constructor(engine: Engine, config: Pick<Config, 'FETCH_HOME' | 'FETCH_KENNEL_BASE'>) {
    this.engine = engine;
    this.config = config;
  }

  /** Name of the image of a recipe, on top of a kennel image; builds it when it does not exist. @throws EnvironmentFailed */
  async provide(kind: ImageKind, kennel: string, recipe: Recipe, onProgress: (text: string) => void, signal?: AbortSignal): Promise<string> {
    const name = await this.nameOf(kennel, recipe);
    if (!(await isLocal(this.engine, name))) await this.built(kind, kennel, recipe, name, onProgress, signal);
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

  /** Depends on all that the image is made from, also on the very image of the kennel, so that an update of that renews this one. */
  private async nameOf(kennel: string, recipe: Recipe): Promise<string> {
    const [{ Id }, base] = await Promise.all([this.engine.docker.getImage(kennel).inspect(), this.baseId(recipe)]);
    const dockerfile = dockerfileOf(recipe, { base: base ?? 'own', kennel: Id, user: containerUser() });
    return `${REPOSITORY}:${hashOf([dockerfile, recipe.base, scriptFiles()])}`;
  }

  private async baseId({ base }: Recipe): Promise<string | null> {
    if (base?.image) return base.image;
    return base ? null : this.config.FETCH_KENNEL_BASE;
  }

  private async built(kind: ImageKind, kennel: string, recipe: Recipe, name: string, onProgress: (text: string) => void, signal?: AbortSignal): Promise<void> {
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
      running.done = this.buildLocked(kind, kennel, recipe, name, tell, signal).finally(() => this.building.delete(name));
      this.building.set(name, running);
    }
    try {
      await running.done;
    } catch (error) {
      if (error instanceof EnvironmentFailed) this.failed.set(name, { at: Date.now(), error });
      // the task that started the build was stopped; this one was not
      if (joined && (error as Error).name === 'AbortError' && !signal?.aborted) return await this.built(kind, kennel, recipe, name, onProgress, signal);
      throw error;
    } finally {
      running.listeners.delete(onProgress);
    }
  }

  private async buildLocked(kind: ImageKind, kennel: string, recipe: Recipe, name: string, tell: (text: string) => void, signal?: AbortSignal): Promise<void> {
    const waiting = () => tell('Another process builds an image: waiting for it');
    await withLock('fetch-kennel-build', waiting, signal, async () => {
      if (await isLocal(this.engine, name)) return;
      const base = await this.ownBase(recipe, tell, signal);
      const dockerfile = dockerfileOf(recipe, { base: base ?? this.config.FETCH_KENNEL_BASE, kennel, user: containerUser() });
      await this.build({ Dockerfile: dockerfile, ...scriptFiles() }, { name, label: `${recipe.title} (${kind})` }, tell, signal);
    });
  }

  /** The base that the repository brings: an image of a registry, or one that its Dockerfile makes. */
  private async ownBase({ base }: Recipe, tell: (text: string) => void, signal?: AbortSignal): Promise<string | null> {
    if (!base) return null;
    if (base.dockerfile === null) return base.image;
    const name = `${REPOSITORY}:base-${hashOf(base)}`;
    if (!(await isLocal(this.engine, name)))
      await this.build({ Dockerfile: base.dockerfile }, { name, label: 'Dockerfile of a repository', args: base.args }, tell, signal);
    return name;
  }

  private async build(
    files: Record<string, string>,
    { name, label, args = {} }: { name: string; label: string; args?: Record<string, string> },
    tell: (text: string) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'fetch-environment-'));
    try {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), text);
      }
      const context = { context: folder, src: Object.keys(files) };
      await buildFrom(this.engine, context, { t: name, dockerfile: 'Dockerfile', buildargs: args, labels: { [LABEL]: label } }, whatOf(tell, label), signal);
    } catch (error) {
      signal?.throwIfAborted();
      const { message } = error as Error;
      const said = message.includes(OTHER_SYSTEM)
        ? 'The base of its devcontainer is neither Debian nor Ubuntu, and nothing else can be used.'
        : message.slice(-SAID_CHARS);
      throw new EnvironmentFailed(
        `The environment of this repository (${label}) could not be built, so only Node, git and Python are there. The build said:\n${said}`,
        {
          cause: error,
        },
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
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

const whatOf =
  (tell: (text: string) => void, label: string) =>
  (text: string): void =>
    tell(`Building the environment of the repository, ${label}: ${text}`);

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
