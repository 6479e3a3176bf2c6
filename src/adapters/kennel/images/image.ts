import type Docker from 'dockerode';
import type { Config } from '../../../config.ts';
import { PACKAGE_ROOT } from '../../../installation.ts';
import { statusOf, unless } from '../docker/containers.ts';
import { containerUser, type Engine } from '../docker/engine.ts';
import { KennelUnavailable } from '../kennel.ts';
import { isLocal, provideBase } from './image-base.ts';
import { buildFrom, withLock } from './image-build.ts';
import { type ImageBuild, type ImageKind, imageBuild, type OthersImage, othersOf } from './image-files.ts';

export interface Images {
  /** Name of the image; builds it when it does not exist. One build at a time on this machine. */
  provide(kind: ImageKind, onProgress?: (text: string) => void, options?: ProvideOptions): Promise<string>;
  /** What exists, without building anything. */
  state(kind: ImageKind): Promise<{ name: string; bytes: number; created: string } | null>;
}

interface ProvideOptions {
  /** fetches the base again and builds every layer again, to update Debian and Node */
  fresh?: boolean;
  signal?: AbortSignal;
}

export type ImageConfig = Pick<Config, 'FETCH_KENNEL_BASE' | 'DOCKER_HOST'>;
const OURS = 'fetch.kennel';
const REMEMBERED_MS = 5_000;

export function images(engine: Engine, config: ImageConfig): Images {
  const building = new Map<string, { done: Promise<void>; listeners: Set<(text: string) => void> }>();
  const seen = new Map<string, number>();
  const made = new Map<ImageKind, { at: number; build: ImageBuild }>();
  const buildOf = async (kind: ImageKind): Promise<ImageBuild> => {
    const known = made.get(kind);
    if (known && Date.now() - known.at < REMEMBERED_MS) return known.build;
    const build = imageBuild(kind, config.FETCH_KENNEL_BASE, containerUser(), await othersImage(engine.docker, kind));
    made.set(kind, { at: Date.now(), build });
    return build;
  };
  const self: Images = {
    provide: async (kind, onProgress = () => {}, options = {}) => {
      const build = await buildOf(kind);
      if (!options.fresh) {
        if (Date.now() - (seen.get(build.name) ?? 0) < REMEMBERED_MS) return build.name;
        if (await isLocal(engine, build.name)) {
          seen.set(build.name, Date.now());
          return build.name;
        }
      }
      // our runner is taken from it
      if (othersOf(kind)) await self.provide('tools', onProgress, { signal: options.signal });
      // a second caller waits for the running build and hears its progress
      const joined = building.get(build.name);
      const running = joined ?? { done: Promise.resolve(), listeners: new Set<(text: string) => void>() };
      running.listeners.add(onProgress);
      if (!joined) {
        const tell = (text: string) => {
          for (const listener of running.listeners) listener(text);
        };
        running.done = provideLocked(engine, config, build, tell, options).finally(() => building.delete(build.name));
        building.set(build.name, running);
      }
      try {
        await running.done;
      } catch (error) {
        // the caller that started the build gave up; this one did not
        if (joined && (error as Error).name === 'AbortError' && !options.signal?.aborted)
          return await self.provide(kind, onProgress, options);
        throw error;
      } finally {
        running.listeners.delete(onProgress);
      }
      seen.set(build.name, Date.now());
      return build.name;
    },
    state: async (kind) => {
      try {
        const { name } = await buildOf(kind);
        const { Size, Created } = await engine.docker.getImage(name).inspect();
        return { name, bytes: Size, created: Created };
      } catch (error) {
        if (statusOf(error) === 404 || error instanceof OthersMissing) return null;
        throw error;
      }
    },
  };
  return self;
}

/** The image of others that has the program of an agent is made by its owner, and never fetched. */
class OthersMissing extends KennelUnavailable {}

async function othersImage(docker: Docker, kind: ImageKind): Promise<OthersImage | null> {
  const name = othersOf(kind);
  if (!name) return null;
  try {
    const { Id, Config } = await docker.getImage(name).inspect();
    const command = [Config.Entrypoint ?? [], Config.Cmd ?? []].flat();
    return { name, id: Id, command, folder: Config.WorkingDir || '/' };
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
    throw new OthersMissing(`The image ${name} is not on this machine. Build it as its own project says.`);
  }
}

async function provideLocked(
  engine: Engine,
  config: ImageConfig,
  build: ImageBuild,
  tell: (text: string) => void,
  options: ProvideOptions,
): Promise<void> {
  const waiting = () => tell('Another process builds an image: waiting for it');
  await withLock('fetch-kennel-build', waiting, options.signal, async () => {
    if (!options.fresh && (await isLocal(engine, build.name))) return;
    if (!othersOf(build.kind)) await provideBase(engine, config, tell, { pull: options.fresh, signal: options.signal });
    await buildImage(engine, build, tell, options);
    await removeOld(engine.docker, build);
  });
}

async function buildImage(
  engine: Engine,
  build: ImageBuild,
  tell: (text: string) => void,
  { fresh, signal }: ProvideOptions,
): Promise<void> {
  tell(`Building ${build.repository}`);
  const options = {
    t: build.name,
    dockerfile: build.dockerfile,
    buildargs: build.buildArgs,
    labels: { [OURS]: build.kind },
    nocache: fresh ?? false,
  };
  try {
    await buildFrom(
      engine,
      { context: PACKAGE_ROOT, src: build.files },
      options,
      (step) => tell(`Building ${build.repository}: ${step}`),
      signal,
    );
  } catch (error) {
    signal?.throwIfAborted();
    throw new KennelUnavailable(`The image ${build.repository} could not be built: ${(error as Error).message}`, {
      cause: error,
    });
  }
  tell(`Built ${build.name}`);
}

/** One earlier image is kept, so that two versions of Fetch on one engine do not keep removing each other's image. */
const KEPT_EARLIER = 1;

async function removeOld(docker: Docker, build: ImageBuild): Promise<void> {
  const [found, containers] = await Promise.all([
    docker.listImages({ filters: { reference: [build.repository], label: [`${OURS}=${build.kind}`] } }),
    docker.listContainers({ all: true }),
  ]);
  const used = new Set(containers.map(({ ImageID }) => ImageID));
  const old = found
    .filter(({ RepoTags }) => !RepoTags?.includes(build.name))
    .sort((a, b) => b.Created - a.Created)
    .slice(KEPT_EARLIER)
    .filter(({ Id }) => !used.has(Id));
  for (const { RepoTags } of old) {
    for (const tag of (RepoTags ?? []).filter((name) => name.startsWith(`${build.repository}:`))) {
      // 409: a container was just created from it
      await docker.getImage(tag).remove().catch(unless(404, 409));
    }
  }
  // images that lost their name to a fresh build
  await docker.pruneImages({ filters: { dangling: ['true'], label: [OURS] } }).catch(unless(409));
}
