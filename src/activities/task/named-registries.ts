import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { cancellationSignal } from '@temporalio/activity';
import { mirrorEnvironment, mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import { MANIFESTS, REGISTRIES_SCRIPT, type Registry, registriesIn } from '../../domain/tasks/registries/registries.ts';
import type { KennelDeps } from '../activity-deps.ts';

const READ_MS = 30_000;

/** Where the settings of a project are read. */
interface Read {
  /** folder on the host */
  workspace: string;
  /** as in `KennelCommand` */
  base?: string;
  label: string;
  /** those that somebody wants to know of; all that have something to load, when left out */
  managers?: readonly string[];
}

/** The registries that the package managers of a project name themselves. */
export async function namedRegistries(
  { config, kennel }: Pick<KennelDeps, 'config' | 'kennel'>,
  { workspace, base, label, managers }: Read,
): Promise<Registry[]> {
  const wanted = managers ?? (await managersOf(workspace));
  if (wanted.length === 0) return [];
  const mirrors = mirrorsOf(config.FETCH_KENNEL_MIRRORS);
  const { stdout } = await kennel.command({
    workspace,
    ...(base !== undefined && { base }),
    readOnly: true,
    // pip and Go are there alone
    environment: true,
    argv: ['bash', '-c', REGISTRIES_SCRIPT],
    env: {
      ...mirrorEnvironment(config.FETCH_KENNEL_MIRRORS),
      FETCH_MANAGERS: wanted.join(' '),
      FETCH_SERVICES: '',
    },
    timeoutMs: READ_MS,
    maxOutput: 20_000,
    label,
    signal: cancellationSignal(),
  });
  return registriesIn(stdout, ({ host, port }) =>
    mirrors.some((mirror) => mirror.plain && mirror.host === host && mirror.port === port),
  );
}

/** The package managers that have something to load. Looks at names alone, and follows no link. */
export async function managersOf(workspace: string): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(MANIFESTS).map(([name, manager]) =>
      lstat(join(workspace, name)).then(
        (entry) => (entry.isFile() ? [manager] : []),
        () => [],
      ),
    ),
  );
  return [...new Set(found.flat())];
}
