import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeLabel, LABEL } from '../../src/adapters/kennel/docker/containers.ts';
import { connect } from '../../src/adapters/kennel/docker/engine.ts';
import type { ImageKind } from '../../src/adapters/kennel/images/image-files.ts';
import { type OpenKennel, openKennel } from '../../src/adapters/kennel/open-kennel.ts';
import { type Config, childEnvironment, loadConfig } from '../../src/config.ts';
import { IS_ROOT } from './other-user.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/docker-engine.sh', import.meta.url));

/**
 * For `describe.skipIf`: only root can start an engine where none answers. In CI the tests are root, and a skipped test
 * fails them.
 */
export const NO_DOCKER: boolean = !IS_ROOT && !answers();

function answers(): boolean {
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000, env: childEnvironment({}) });
    return true;
  } catch {
    return false;
  }
}

let engine: Promise<void> | null = null;

/**
 * Sees that an engine answers, and that these images are there. May take minutes the first time: `npm test` does it
 * before the tests.
 */
export async function requireDocker(...kinds: ImageKind[]): Promise<void> {
  engine ??= startEngine();
  await engine;
  const kennel = openKennel(loadConfig());
  for (const kind of ['tools' as const, ...kinds]) await kennel.images.provide(kind);
}

function startEngine(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(SCRIPT, [], { env: childEnvironment({}), stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        said += text;
      });
    child.once('error', reject);
    // not `close`: the daemon may hold the pipes
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(said))));
  });
}

export interface TestKennel {
  kennel: OpenKennel;
  config: Config;
  /** FETCH_HOME: its containers are told apart from every other test's by it */
  home: string;
  /** a new empty folder for a workspace */
  workspace(): string;
  /** Runs a command beside the runner in the container of a step; what it printed, and its exit code. */
  inside(taskId: string, step: number, argv: string[]): Promise<{ code: number; output: string }>;
  /** ids of all containers of this home, whatever they are for */
  containers(): Promise<string[]>;
  close(): Promise<void>;
}

/** A kennel with a home of its own. `close` removes its containers and folders. */
export async function startTestKennel(settings: Partial<Record<string, string>> = {}): Promise<TestKennel> {
  await requireDocker();
  const home = mkdtempSync(join(tmpdir(), 'fetch-kennel-test-'));
  const config = loadConfig({ FETCH_KENNEL_MEMORY_MB: '512', ...settings, FETCH_HOME: home });
  const kennel = openKennel(config);
  const { docker } = kennel.engine;
  let count = 0;
  const containers = async (): Promise<string[]> => {
    const all = await docker.listContainers({ all: true });
    return all.filter(({ Labels }) => Labels['fetch.home'] === homeLabel(home)).map(({ Id }) => Id);
  };
  return {
    kennel,
    config,
    home,
    containers,
    workspace: () => {
      const folder = join(home, 'workspaces', String(++count));
      mkdirSync(folder, { recursive: true });
      return folder;
    },
    inside: async (taskId, step, argv) => {
      const found = await kennel.inspect(taskId, step);
      if (!found) throw new Error(`task ${taskId} has no container for step ${step}`);
      const exec = await docker
        .getContainer(found.id)
        .exec({ Cmd: argv, AttachStdout: true, AttachStderr: true, Tty: true });
      const stream = await exec.start({ Tty: true });
      let output = '';
      for await (const chunk of stream) output += chunk;
      return { code: (await exec.inspect()).ExitCode ?? -1, output };
    },
    close: async () => {
      await Promise.all((await containers()).map((id) => docker.getContainer(id).remove({ force: true, v: true })));
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Browsers and apps outlive their instance: a test ends those of its own home. `label`: `homeLabel` of it. */
export async function removeContainers(label: string): Promise<void> {
  const { docker } = connect(loadConfig());
  const left = await docker.listContainers({ all: true, filters: { label: [`${LABEL.home}=${label}`] } });
  await Promise.all(left.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
}
