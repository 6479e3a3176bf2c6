import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { markMoved, requireNotMoved } from '../../instance/home/moved.ts';
import { claimOrExplain } from '../../instance/instance.ts';
import { isPackage, writePackage } from './package.ts';

/**
 * `fetch export-home`: writes a stopped home into a folder, which `fetch import-home` takes on another machine.
 * Afterwards the home does not start any more.
 */
export async function run(config: Config, { to }: { to: string }): Promise<void> {
  const folder = resolve(to);
  const home = config.FETCH_HOME;
  if (config.DATABASE_URL || config.TEMPORAL_ADDRESS)
    throw new UserError(
      'fetch export-home is for a home with servers of its own. Unset DATABASE_URL and TEMPORAL_ADDRESS.',
    );
  if (folder === home || folder.startsWith(`${home}/`)) throw new UserError(`Name a folder outside of ${home}.`);
  if (existsSync(folder) && isPackage(folder))
    throw new UserError(`${folder} has an export already. Name another folder.`);
  if (existsSync(folder) && readdirSync(folder).some((name) => !OURS.has(name)))
    throw new UserError(`${folder} is not empty. Name another folder.`);
  if (!existsSync(home)) throw new UserError(`There is no home ${home}.`);
  const claim = await claimOrExplain(home);
  try {
    requireNotMoved(home);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { figures, workspaces } = await writePackage(config, folder, { workspaces: true });
    markMoved(home, folder);
    process.stdout.write(
      `${folder} has the home now: ${figures.chats} chats, ${workspaces.length} workspaces, and every key. Whoever reads it can be you.\n` +
        `Bring it to the server and import it there: fetch import-home --from FOLDER. Then delete it here and there.\n` +
        `${home} does not start any more. Changed your mind before the import? Remove ${home}/moved.json.\n`,
    );
  } finally {
    claim.release();
  }
}

/** Files that a killed export has left. */
const OURS: ReadonlySet<string> = new Set(['home', 'tables', 'workspaces', 'checkpoints', '.scratch']);
