import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { placeMoved } from '../../../adapters/moved-workspaces.ts';
import { type Config, ConfigError } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { visibleLine } from '../../../domain/text/evidence.ts';
import { startAllOver } from '../../../gateway/intake/reconcile/start-over.ts';
import { auditHead } from '../../../store/home/audit-log.ts';
import { checkDump, loadTables } from '../../../store/home/move/load.ts';
import { openStore } from '../../../store/postgres/database.ts';
import { noteHead } from '../../instance/home/audit-head.ts';
import { ensureHome } from '../../instance/home/home.ts';
import { markMoved, markMovingIn, movedIn } from '../../instance/home/moved.ts';
import { claimOrExplain } from '../../instance/instance.ts';
import { connectTemporal } from '../../roles/connect.ts';
import { prepareServers } from '../../roles/prepare.ts';
import { placeFiles, settingsIn } from './files.ts';
import { filesIn, type Manifest, tablesIn } from './package.ts';
import type { HeldSettings } from './settings.ts';
import { openSource, packageOf, type Source } from './source.ts';
import { directUrl, lookAtTarget, serversOf, type TargetReport, workspacesOfConfig } from './target.ts';

interface Plan {
  config: Config;
  manifest: Manifest;
  target: TargetReport;
  replace: boolean;
  settings: HeldSettings;
}

/** What a move does, for a person who decides about it. */
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
