import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Config } from '../../../config.ts';
import { BUILD_FOLDER, type CopiedContent, type CopiedFile } from '../../../contracts/environment.ts';
import { english, type Told } from '../../../domain/texts/say.ts';
import { MINUTE } from '../../../domain/time.ts';
import type { Engine } from '../docker/engine.ts';
import { buildFrom } from '../images/image-build.ts';
import { OTHER_SYSTEM } from './recipe.ts';

/** The label of every image that is made for repositories; its value says for people what is in it. */
export const LABEL = 'fetch.environment';
/** How much of what a failed build said is shown, in characters. */
const SAID_CHARS = 600;
/** Period of the processor limit, in microseconds. */
const CPU_PERIOD = 100_000;
/** The Dockerfile of a build, beside files of a repository that may have any other name. */
const DOCKERFILE = `${BUILD_FOLDER}/Dockerfile`;

export type BuildLimits = Pick<Config, 'FETCH_KENNEL_MEMORY_MB' | 'FETCH_KENNEL_CPUS' | 'FETCH_KENNEL_BUILD_MINUTES'>;

/** An image could not be made. `tell` says so in sentences. The work goes on without it. */
export class EnvironmentFailed extends Error {
  override readonly name = 'EnvironmentFailed';
  /** what the build said */
  readonly why: string;
  readonly tell: Told;

  constructor(label: string, why: string, options?: ErrorOptions) {
    const tell: Told = (say) => say('environment.failed', { what: label, why });
    super(tell(english), options);
    this.tell = tell;
    this.why = why;
  }
}

interface BuildFile {
  path: string;
  content: string | Buffer;
  executable?: boolean;
}

interface Build {
  name: string;
  /** for people */
  label: string;
  dockerfile: string;
  files: BuildFile[];
  args?: Record<string, string>;
}

/**
 * Builds an image. Its steps have the memory and the processors of a container, because a repository chooses them.
 * @throws EnvironmentFailed
 */
export async function buildEnvironment(
  engine: Engine,
  limits: BuildLimits,
  build: Build,
  tell: (text: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { name, label, dockerfile, args = {} } = build;
  const folder = await mkdtemp(join(tmpdir(), 'fetch-environment-'));
  const late = AbortSignal.timeout(limits.FETCH_KENNEL_BUILD_MINUTES * MINUTE);
  try {
    const files = [{ path: DOCKERFILE, content: dockerfile }, ...build.files];
    await writeFiles(folder, files);
    const context = { context: folder, src: files.map(({ path }) => path) };
    const memory = limits.FETCH_KENNEL_MEMORY_MB * 1024 * 1024;
    const share = {
      memory,
      memswap: memory,
      cpuperiod: CPU_PERIOD,
      cpuquota: Math.round(limits.FETCH_KENNEL_CPUS * CPU_PERIOD),
    };
    const options = { t: name, dockerfile: DOCKERFILE, buildargs: args, labels: { [LABEL]: label }, ...share };
    const until = signal ? AbortSignal.any([signal, late]) : late;
    await buildFrom(
      engine,
      context,
      options,
      (text) => tell(`Building the environment of the repository, ${label}: ${text}`),
      until,
    );
  } catch (error) {
    signal?.throwIfAborted();
    const why = late.aborted ? tooSlow(limits) : whyFailed(error as Error, limits);
    throw new EnvironmentFailed(label, why, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const tooSlow = ({ FETCH_KENNEL_BUILD_MINUTES: minutes }: BuildLimits): string =>
  `Its build took longer than ${minutes} minutes. Finished steps are kept, and the next task goes on from there.`;

function whyFailed({ message }: Error, { FETCH_KENNEL_MEMORY_MB: megabytes }: BuildLimits): string {
  if (message.includes(OTHER_SYSTEM))
    return 'The base of its devcontainer is neither Debian nor Ubuntu, and nothing else can be used.';
  const said = `The build said:\n${message.slice(-SAID_CHARS)}`;
  // SIGKILL: nobody but the kernel sends it to a step of a build
  if (!/returned a non-zero code: 137\b/.test(message)) return said;
  return `A step of its build was killed, most likely because it needs more memory than ${megabytes} MB. ${said}`;
}

/** Readable for everybody, whatever the umask is: an image is used by another user than the one who builds it. */
async function writeFiles(folder: string, files: readonly BuildFile[]): Promise<void> {
  for (const { path, content, executable = false } of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    for (let at = dirname(file); at !== folder; at = dirname(at)) await chmod(at, 0o755);
    // `wx`: two files of one name would be an answer of another program than ours
    await writeFile(file, content, { flag: 'wx' });
    await chmod(file, executable ? 0o755 : 0o644);
  }
}

/**
 * The files that a person agreed to, as they are now. @throws EnvironmentFailed when something else is in them by now
 */
export function agreedFiles(agreed: readonly CopiedFile[], now: readonly CopiedContent[]): BuildFile[] {
  const contents = new Map(now.map(({ path, base64 }) => [path, Buffer.from(base64, 'base64')]));
  return agreed.map(({ path, executable, sha256 }) => {
    const content = contents.get(path);
    if (!content || createHash('sha256').update(content).digest('hex') !== sha256)
      throw new EnvironmentFailed(
        'Dockerfile of a repository',
        `${path} was changed while it was prepared. The next task looks again.`,
      );
    return { path, content, executable };
  });
}
