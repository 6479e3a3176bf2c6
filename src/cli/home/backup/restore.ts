import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gt } from 'semver';
import type { Config } from '../../../config.ts';
import { VERSION } from '../../../installation.ts';
import { ensureHome } from '../../instance/home/home.ts';
import { claimOrExplain } from '../../instance/instance.ts';
import { clusterFolder, placeCluster, postgresVersion, removeCluster } from '../../instance/servers/postgres.ts';
import { entryOf, syncFolder, unpack } from './archive.ts';
import { requireKey } from './backup.ts';
import { type Manifest, PLATFORM } from './stage.ts';

/** `fetch restore`: unpacks a backup into an empty home. The whole file is checked before anything is put in place. */
export async function run(config: Config, named: string, { dryRun = false }: { dryRun?: boolean }): Promise<void> {
  const file = resolve(named);
  const home = config.FETCH_HOME;
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`);
  const secret = requireKey(config);
  if (dryRun) {
    const manifest = JSON.parse(await entryOf(secret, file, './manifest.json')) as Manifest;
    process.stdout.write(`${described(manifest)}\nThe file is whole. Nothing was changed.\n`);
    return await requireUsable(manifest);
  }
  const used = () => contentOf(home).length > 0;
  const refusal = `${home} is not empty. Restore into another folder: fetch restore ${named} --home FOLDER`;
  if (used()) throw new Error(refusal);
  // no start of this home until all of it is there
  const claim = await claimOrExplain(home);
  if (used()) throw new Error(refusal);
  try {
    const manifest = await unpacked(secret, file, home);
    process.stdout.write(
      `${described(manifest)}\nRestored to ${home}. End the instance that it was made of, then: fetch up --home ${home}\n`,
    );
  } catch (error) {
    removeCluster(home);
    for (const name of contentOf(home)) rmSync(join(home, name), { recursive: true, force: true });
    throw error;
  } finally {
    claim.release();
  }
}

/** Without the claims of processes on it. */
const contentOf = (home: string): string[] =>
  existsSync(home) ? readdirSync(home).filter((name) => name !== 'start.lock') : [];

async function unpacked(secret: string, file: string, home: string): Promise<Manifest> {
  const folder = join(home, '.restoring');
  mkdirSync(folder, { mode: 0o700 });
  await unpack(secret, file, folder);
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  await requireUsable(manifest);
  await place(home, folder, manifest);
  for (const each of [home, clusterFolder(home)!]) await syncFolder(each);
  return manifest;
}

const described = ({ version, at, temporal, workspaces }: Manifest): string =>
  `Backup of ${at} by release ${version}: PostgreSQL, ${temporal ? `Temporal ${temporal}, ` : ''}keys and settings${workspaces ? ', workspaces' : ''}.`;

async function requireUsable({ version, platform, postgres }: Manifest): Promise<void> {
  if (gt(version, VERSION))
    throw new Error(`This backup was made by release ${version}, and this is ${VERSION}. Update Fetch first.`);
  if (platform !== PLATFORM)
    throw new Error(
      `This backup was made on ${platform}, and this is ${PLATFORM}. PostgreSQL cannot read its files here.`,
    );
  const { major } = await postgresVersion();
  if (postgres !== major)
    throw new Error(
      `This backup has a database of PostgreSQL ${postgres}, and this release brings PostgreSQL ${major}.`,
    );
}

async function place(home: string, folder: string, { temporal }: Manifest): Promise<void> {
  const kept = join(folder, 'home');
  for (const name of readdirSync(kept)) renameSync(join(kept, name), join(home, name));
  ensureHome(home);
  if (temporal) renameSync(join(folder, `temporal-${temporal}.sqlite`), join(home, `temporal-${temporal}.sqlite`));
  await placeCluster(home, join(folder, 'postgres'));
  rmSync(folder, { recursive: true });
}
