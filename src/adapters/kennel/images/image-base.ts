import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Config, childEnvironment } from '../../../config.ts';
import { PACKAGE_ROOT } from '../../../installation.ts';
import type { Engine } from '../docker/engine.ts';
import { KennelUnavailable } from '../kennel.ts';

/** The only base image that can be replaced by a stand-in. */
const STANDABLE = 'node:24-bookworm-slim';

/**
 * Makes sure that the base image exists: the local one, else the registry's, else a stand-in of the same name built
 * here.
 */
export async function provideBase(
  engine: Engine,
  config: Pick<Config, 'FETCH_KENNEL_BASE' | 'DOCKER_HOST'>,
  onProgress: (text: string) => void,
  options: { pull?: boolean; signal?: AbortSignal } = {},
): Promise<void> {
  const base = config.FETCH_KENNEL_BASE;
  const local = await isLocal(engine, base);
  if (local && !options.pull) return;
  onProgress(`Fetching ${base}`);
  const refused = await pull(engine, base, onProgress, options.signal).then(
    () => null,
    (error: Error) => new Error(error.message.replace(/^\(HTTP code \d+\)[^-]*- /, '').trim(), { cause: error }),
  );
  options.signal?.throwIfAborted();
  // a failed update keeps the present image
  if (!refused || (local && !options.pull)) return;
  if (local) {
    onProgress(`${base} could not be fetched (${refused.message}): the local one is used`);
    return;
  }
  const lacking = standInLacks(base);
  if (lacking)
    throw new KennelUnavailable(
      `The image ${base} that the kennel is built on could not be fetched (${refused.message}). ${lacking} Or name another base with Node 24 and apt: FETCH_KENNEL_BASE.`,
      { cause: refused },
    );
  onProgress(`No image registry can be reached: making a stand-in for ${base} from Debian's packages`);
  await makeStandIn(config, base, onProgress, options.signal);
}

export async function isLocal(engine: Engine, name: string): Promise<boolean> {
  try {
    await engine.docker.getImage(name).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw error;
  }
}

async function pull(
  engine: Engine,
  base: string,
  onProgress: (text: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const stream = await engine.patient.pull(base, { abortSignal: signal });
  const layers = new Map<string, [done: number, total: number]>();
  await follow<{ id?: string; progressDetail?: { current?: number; total?: number }; status?: string }>(
    engine,
    stream,
    (event) => {
      const { current, total } = event.progressDetail ?? {};
      if (event.status !== 'Downloading' || !event.id || !current || !total) return;
      layers.set(event.id, [current, total]);
      const [done, all] = [...layers.values()].reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
      onProgress(`Fetching ${base}: ${Math.floor(done / 1e6)} of ${Math.floor(all / 1e6)} MB`);
    },
  );
}

/**
 * Reads the events of a build or a pull to the end. Throws when an event reports a failure, because the stream itself
 * ends well even then.
 */
export function follow<Event>(
  engine: Engine,
  stream: NodeJS.ReadableStream,
  onEvent: (event: Event) => void,
): Promise<void> {
  let failure: Error | null = null;
  return new Promise((resolve, reject) => {
    engine.patient.modem.followProgress(
      stream,
      (error) => (error || failure ? reject(error ?? failure) : resolve()),
      (event: Event & { error?: string }) => {
        if (event.error) failure = new Error(event.error);
        onEvent(event);
      },
    );
  });
}

/** Why no stand-in can be built here, and what to do; null when it can. */
function standInLacks(base: string): string | null {
  if (base !== STANDABLE) return 'See that its registry can be reached, or fetch it by hand: docker pull.';
  const way = `Where no registry can be reached, a stand-in can be made on Debian or Ubuntu: sudo apt-get install debootstrap && sudo kennel/base/debian-base.sh.`;
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return way;
  const path = childEnvironment({}).PATH ?? '';
  const missing = ['debootstrap', 'npm', 'docker'].filter((name) => !onPath(name, path));
  return missing.length > 0 ? `${way} Missing here: ${missing.join(', ')}.` : null;
}

function onPath(name: string, path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function makeStandIn(
  config: Pick<Config, 'DOCKER_HOST'>,
  base: string,
  onProgress: (text: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const child = spawn(join(PACKAGE_ROOT, 'kennel/base/debian-base.sh'), [base], {
    env: childEnvironment(config.DOCKER_HOST ? { DOCKER_HOST: config.DOCKER_HOST } : {}),
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      if (stream === child.stdout) onProgress(line);
      last.push(line);
      if (last.length > 15) last.shift();
    });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new KennelUnavailable(`The stand-in for ${base} could not be made:\n${last.join('\n')}`);
}
