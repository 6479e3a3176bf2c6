import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { placeMoved } from '../../../adapters/moved-workspaces.ts';
import { type Config, ConfigError, loadConfig } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { visibleLine } from '../../../domain/text/evidence.ts';
import { startAllOver } from '../../../gateway/intake/reconcile/start-over.ts';
import { auditHead } from '../../../store/home/audit-log.ts';
import { checkDump, loadTables } from '../../../store/home/move/load.ts';
import { openStore } from '../../../store/postgres/database.ts';
import { noteHead } from '../../instance/home/audit-head.ts';
import { ensureHome } from '../../instance/home/home.ts';
import { markMoved, markMovingIn, movedIn, movedMark } from '../../instance/home/moved.ts';
import { homeHolder } from '../../instance/home/start-lock.ts';
import { claimOrExplain } from '../../instance/instance.ts';
import { connectTemporal } from '../../roles/connect.ts';
import { prepareServers } from '../../roles/prepare.ts';
import { type HeldSettings, placeFiles, settingsIn } from './files.ts';
import { filesIn, isPackage, type Manifest, readPackage, tablesIn, writePackage } from './package.ts';
import { requireStoppedCluster } from './scratch-database.ts';
import { directUrl, lookAtTarget, serversOf, type TargetReport, workspacesOfConfig } from './target.ts';

interface Plan {
  config: Config;
  manifest: Manifest;
  target: TargetReport;
  replace: boolean;
  settings: HeldSettings;
}

/** The effects of a move, for the person who decides. */
function importPlan({ config, manifest, target, replace, settings }: Plan): string {
  const { figures, dump, workspaces, at, version } = manifest;
  if (target.imported && !replace)
    return `This home (${manifest.home}) was moved to ${serversOf(config)} before. Its tables stay as they are there.`;
  const rows = dump.tables.reduce((sum, table) => sum + table.rows, 0);
  const taken = Object.keys(settings.taken);
  return [
    `The home ${manifest.home}, read at ${at} by release ${version}, goes to ${serversOf(config)}:`,
    `  - ${figures.chats} chats in ${rows} rows; ${figures.openQuestions} open questions, ${figures.turns} turns at work, ${figures.messages} messages to send`,
    `  - ${figures.crons} schedules, ${figures.reminders} reminders, ${figures.tasks} coding tasks, which begin again from the database`,
    `  - ${figures.whatsapp ? 'the link of WhatsApp with its keys' : 'no WhatsApp: it is not linked'}`,
    `  - keys, tokens and files to ${config.FETCH_HOME}${taken.length > 0 ? `, and the settings ${taken.join(', ')}` : ''}`,
    ...(workspaces.length > 0
      ? [`  - workspaces to ${workspacesOfConfig(config)}: ${workspaces.map(({ name }) => name).join(', ')}`]
      : []),
    ...settings.left.map(({ name, why }) => `  - not the setting ${visibleLine(name)}: ${visibleLine(why)}`),
    ...(replace
      ? [`What is there now is deleted: all tables of Fetch, and ${target.running} runs and schedules of Temporal.`]
      : []),
    'Not moved: histories of Temporal, logs, images and caches, deleted workspaces.',
  ].join('\n');
}

interface Options {
  from: string;
  yes?: boolean;
  replace?: boolean;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/**
 * `fetch import-home`: moves a home to the servers of DATABASE_URL and TEMPORAL_ADDRESS. Without `--yes` it only says
 * what it would do. Each step may be killed and done again: the tables come in one transaction, after the files and
 * after the mark that keeps the home from starting where it was.
 */
export async function run(config: Config, { from, yes = false, replace = false }: Options): Promise<void> {
  requireServers(config);
  const home = config.FETCH_HOME;
  if (resolve(from) === home)
    throw new UserError(`${home} is also the FETCH_HOME of these servers. Give them another one: --home FOLDER`);
  ensureHome(home);
  const claim = await claimOrExplain(home);
  const stage = join(home, '.import-home');
  const source = await openSource(from, serversOf(config), { dryRun: !yes }).catch((error) => {
    claim.release();
    throw error;
  });
  try {
    say(`Reading ${source.folder}${source.direct ? ' (a copy of its database)' : ''}`);
    mkdirSync(stage, { recursive: true, mode: 0o700 });
    const found = await packageOf(source, stage);
    await checkDump(found.manifest.dump, tablesIn(found.folder));
    const target = await lookAtTarget(config, found.manifest, { replace });
    const done = target.imported && !replace;
    say(
      importPlan({
        config,
        manifest: found.manifest,
        target,
        replace,
        settings: settingsIn(filesIn(found.folder), home),
      }),
    );
    if (target.problems.length > 0)
      throw new UserError(`This cannot be done yet:\n${target.problems.map((each) => `  - ${each}`).join('\n')}`);
    if (!yes) return say('Nothing was changed. Do it: the same with --yes');
    if (!done) await move(config, source, found, replace);
    await conclude(config, source);
  } finally {
    rmSync(stage, { recursive: true, force: true });
    source.release();
    claim.release();
  }
}

function requireServers(config: Config): void {
  const missing = (['DATABASE_URL', 'TEMPORAL_ADDRESS'] as const).filter((name) => !config[name]);
  if (missing.length > 0)
    throw new ConfigError(
      missing.map(
        (name) =>
          `${name}: must be set to the server that the home is moved to. A laptop's home needs no move to another folder: fetch backup and fetch restore do that`,
      ),
    );
}

async function move(
  config: Config,
  source: Source,
  { manifest, folder }: { manifest: Manifest; folder: string },
  replace: boolean,
): Promise<void> {
  const home = config.FETCH_HOME;
  say('Preparing the servers');
  const { warnings } = await prepareServers(config);
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  // from here on no role may start with the keys of one and the tables of the other
  markMovingIn(home, source.folder);
  say('Copying files');
  for (const line of await placeFiles(filesIn(folder), home)) say(`  ${line}`);
  for (const workspace of manifest.workspaces) {
    say(`Copying the workspace ${workspace.name}`);
    mkdirSync(workspacesOfConfig(config), { recursive: true, mode: 0o700 });
    await placeMoved(workspacesOfConfig(config), workspace);
  }
  say(`Marking ${source.folder} as moved`);
  markMoved(source.folder, serversOf(config));
  if (replace) await endRuns(config);
  say('Copying the database');
  await loadTables(directUrl(config), { dump: manifest.dump, folder: tablesIn(folder), home: manifest.home, replace });
}

async function endRuns(config: Config): Promise<void> {
  const { temporal, close } = await connectTemporal(config);
  try {
    say(`Ended in Temporal: ${await startAllOver(temporal, 'another home was moved here')} runs`);
  } finally {
    await close();
  }
}

async function conclude(config: Config, source: Source): Promise<void> {
  const store = await openStore(directUrl(config), { max: 1, application: 'fetch-move', migrate: false });
  try {
    const head = await auditHead(store.db);
    if (head) noteHead(config.FETCH_HOME, head);
  } finally {
    await store.close();
  }
  markMoved(source.folder, serversOf(config));
  movedIn(config.FETCH_HOME);
  say('Moved. Start the roles: chats, tasks, schedules and reminders begin again from the database within a minute.');
  if (source.direct)
    say(
      `${source.folder} does not start any more. If it is a copy, put its moved.json also into the home that it was copied from, and end Fetch there.`,
    );
}

/** Where a home is moved from: its own folder, or what `fetch export-home` wrote. */
interface Source {
  folder: string;
  /** the home itself is read, not an export of it */
  direct: boolean;
  release(): void;
}

/**
 * Looks at the folder, and keeps the home in it from starting while it is moved. `to`: the servers that it is moved to,
 * which a move that was interrupted has noted already. A dry run takes no claim. @throws UserError
 */
async function openSource(named: string, to: string, { dryRun }: { dryRun: boolean }): Promise<Source> {
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
async function packageOf({ folder, direct }: Source, stage: string): Promise<{ manifest: Manifest; folder: string }> {
  // its own settings, as a service of it has them: the environment of this command is that of the servers
  if (direct)
    return {
      manifest: await writePackage(loadConfig({ FETCH_HOME: folder }, {}), stage, { workspaces: false }),
      folder: stage,
    };
  return { manifest: readPackage(folder), folder };
}
