import { LABEL, unless } from './docker/containers.ts';
import type { RunContext } from './runs.ts';

/** Holding apps and commands, whose containers write to workspaces as those of tasks do. */

/** Names of the containers of apps and commands of a home that run. */
export async function runningBesides({ engine, home }: Pick<RunContext, 'engine' | 'home'>): Promise<string[]> {
  const found = await engine.docker.listContainers({
    filters: { label: [`${LABEL.home}=${home}`], status: ['running'] },
  });
  return found
    .filter(({ Labels }) => LABEL.app in Labels || (LABEL.until in Labels && !(LABEL.browser in Labels)))
    .map(({ Names }) => Names[0]!.slice(1));
}

export async function setFrozen(
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
