import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadConfig } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { movedMark } from '../../instance/home/moved.ts';
import { homeHolder } from '../../instance/home/start-lock.ts';
import { claimOrExplain } from '../../instance/instance.ts';
import { isPackage, type Manifest, readPackage, writePackage } from './package.ts';
import { requireStoppedCluster } from './scratch-database.ts';

/** Where a home is moved from: its own folder, or what `fetch export-home` wrote. */
export interface Source {
  folder: string;
  /** the home itself is read, not an export of it */
  direct: boolean;
  release(): void;
}

/**
 * Looks at the folder, and keeps the home in it from starting while it is moved. `to`: the servers that it is moved to,
 * which a move that was interrupted has noted already. A dry run takes no claim. @throws UserError
 */
export async function openSource(named: string, to: string, { dryRun }: { dryRun: boolean }): Promise<Source> {
  const folder = resolve(named);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new UserError(`There is no folder ${folder}.`);
  requireReadable(folder);
  const mark = movedMark(folder);
  if (mark && mark.to !== to)
    throw new UserError(
      `${folder} was moved to ${mark.to} already (${mark.at}). A home in two places would answer twice. If it is not used there, remove ${join(folder, 'moved.json')} first.`,
    );
  if (isPackage(folder)) return { folder, direct: false, release: () => {} };
  const holder = await homeHolder(folder);
  if (holder)
    throw new UserError(`Fetch runs for ${folder} (process ${holder.pid}). End it first: fetch stop --home ${folder}`);
  requireStoppedCluster(folder);
  // no start of it until it is moved
  const claim = dryRun ? null : await claimOrExplain(folder);
  return { folder, direct: true, release: () => claim?.release() };
}

/** Where the mark goes, and what has keys in it. */
function requireReadable(folder: string): void {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    throw new UserError(
      `${folder} cannot be read and written by this user. It is marked as moved, so that it does not start a second time.`,
    );
  }
}

/** The package of a source, and where it lies. `stage`: where a package of a home is made. */
export async function packageOf(
  { folder, direct }: Source,
  stage: string,
): Promise<{ manifest: Manifest; folder: string }> {
  // its own settings, as a service of it has them: the environment of this command is that of the servers
  if (direct)
    return {
      manifest: await writePackage(loadConfig({ FETCH_HOME: folder }, {}), stage, { workspaces: false }),
      folder: stage,
    };
  return { manifest: readPackage(folder), folder };
}
