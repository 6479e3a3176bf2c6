import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheSettings } from '../../domain/tasks/registries/cached-registries.ts';
import { mirrorEnvironment, mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import { registriesOf } from '../../store/kennel/questions/egress-questions.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { gateFolder } from './run/folder.ts';

/**
 * Environment variables by which the package managers of a run find the owner's mirrors, and the cache of this host.
 * The gate must be open.
 */
export async function packageManagers(
  { config, db }: Pick<KennelDeps, 'config' | 'db'>,
  task: Task,
): Promise<Record<string, string>> {
  const { FETCH_KENNEL_MIRRORS, FETCH_REGISTRY_CACHE_MB } = config;
  if (FETCH_REGISTRY_CACHE_MB === 0) return mirrorEnvironment(FETCH_KENNEL_MIRRORS);
  const registries = await registriesOf(db, task);
  for (const { manager } of mirrorsOf(FETCH_KENNEL_MIRRORS)) registries.delete(manager);
  const { variables, files } = cacheSettings(registries);
  // a container cannot write this folder, so no link is followed
  for (const [name, content] of Object.entries(files))
    await writeFile(join(gateFolder(config, task.id), name), content);
  return { ...variables, ...mirrorEnvironment(FETCH_KENNEL_MIRRORS, true) };
}
