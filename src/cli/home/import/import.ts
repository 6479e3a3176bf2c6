import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { visibleLine } from '../../../domain/text/evidence.ts';
import { phoneOf } from '../../../domain/whatsapp/identity.ts';
import { importedKeys, importTrusted } from '../../../store/home/imports.ts';
import { openStore, type Store } from '../../../store/postgres/database.ts';
import type { ImportKind } from '../../../store/schema/tables/home.ts';
import { ensureHome, ensureSecret } from '../../instance/home/home.ts';
import { clusterFolder, databaseUrl } from '../../instance/servers/postgres.ts';
import { readCopies } from './copies.ts';
import { isConfigured, ownerIn, readSettings } from './env.ts';
import {
  type Found,
  foldersOf,
  isFolder,
  JsonFile,
  type Left,
  merged,
  nothing,
  type Part,
  problemLine,
} from './files.ts';
import { partOfNanoClaw, readNanoClaw } from './nanoclaw.ts';
import { kindOfFolder } from './nanoclaw-data.ts';
import { type Chats, counted, readSessions } from './sessions.ts';
import { readWorkflows } from './workflows.ts';

/**
 * `whitelist.json`: numbers that may write besides the owner's. `done`: taken over before; who was removed since stays
 * removed.
 */
function readTrusted({ data, done }: { data: string; done: ReadonlySet<string> }): Part {
  const part = nothing();
  const json = JsonFile.read(join(data, 'whitelist.json'), part.problems);
  for (const [at, written] of (json?.list('trustedNumbers', part.problems) ?? []).entries()) {
    const phone = typeof written === 'string' ? phoneOf(written) : null;
    if (phone === null)
      part.problems.push({
        file: json!.file,
        line: json!.lineOf('trustedNumbers', at),
        text: 'This is no number with its country code.',
      });
    else if (!part.found.some(({ what }) => what === `trusted number +${phone}`))
      part.found.push({
        what: `trusted number +${phone}`,
        here: done.has(phone),
        take: async ({ db }) => {
          await importTrusted(db, phone);
          return null;
        },
      });
  }
  return part;
}

/** What an installation of the original has besides, and why it stays there. */
const OTHERS: ReadonlyArray<readonly [path: string, what: string, why: string]> = [
  ['data/tasks.db', 'coding tasks', 'their agents do not run any more; their changes are in the projects'],
  ['data/identity', 'identity files', 'the assistant has no identity files here'],
  ['data/agents', 'agent files', 'agents are chosen by FETCH_KENNEL_AGENTS here'],
  ['data/.wwebjs_auth', 'WhatsApp login', 'another library made it: link this device with `fetch pair`'],
  ['.wwebjs_auth', 'WhatsApp login', 'another library made it: link this device with `fetch pair`'],
];

function readOthers({ root, data }: { root: string; data: string }): Left[] {
  const inFolder = (path: string): string =>
    path.startsWith('data/') ? join(data, path.slice('data/'.length)) : join(root, path);
  const left = OTHERS.filter(([path]) => existsSync(inFolder(path))).map(([path, what, why]) => ({
    what: `${what} (${path})`,
    why,
  }));
  const projects = join(root, 'workspace');
  const names = isFolder(projects) ? readdirSync(projects).filter((name) => isFolder(join(projects, name))) : [];
  return [
    ...left,
    ...names.map((name) => ({ what: `project ${name}`, why: `bring it in with \`open ${join(projects, name)}\`` })),
  ];
}

/**
 * `fetch import`: takes over what an installation of the original Fetch, or of NanoClaw, has. Returns whether everything
 * could be read and taken. @throws UserError
 */
export async function run(config: Config, { from, dryRun }: { from: string; dryRun?: boolean }): Promise<boolean> {
  const folder = resolve(from);
  if (!existsSync(folder)) throw new UserError(`There is no folder ${folder}.`);
  if (!isFolder(realpathSync(folder))) throw new UserError(`${folder} is a file. Name the folder that it is in.`);
  const other = nothing();
  const nanoClaw = readNanoClaw(folder, other.problems);
  const folders = nanoClaw ? null : foldersOf(folder, isConfigured(folder));
  if (!nanoClaw && !folders)
    throw new UserError(
      `${folder} is ${kindOfFolder(folder)}. It is no installation of Fetch, which has data/sessions.db, data/workflows.json or data/whitelist.json, and none of NanoClaw, which has store/messages.db or data/v2.db.`,
    );
  const home = config.FETCH_HOME;
  if (!dryRun) ensureHome(home);
  const store = await openDatabase(config, !dryRun);
  if (!store && !dryRun)
    throw new UserError(
      'The database does not run. Start Fetch first (fetch up), or set DATABASE_URL; then import again.',
    );
  try {
    // a dry run makes no ids of chats
    const chats = { config, secret: dryRun ? '' : ensureSecret(home, 'chat-key') };
    const part = folders
      ? merged([await readAll(chats, folders, store), { ...nothing(), left: readOthers(folders) }])
      : merged([other, partOfNanoClaw(chats, nanoClaw!, await nanoClawDone(store))]);
    if (!dryRun) return report(part, await takeAll(part.found, { db: store!.db, home }), home);
    say(
      heading(
        'Would be taken over',
        part.found.filter(({ here }) => !here).map(({ what }) => what),
      ),
    );
    if (!store) say('The database does not run, so what was taken over before is not known.\n');
    return report(part, { taken: null, refused: [] }, home);
  } finally {
    await store?.close();
  }
}

/** Null: the embedded one does not run. `migrate`: it may be changed. */
async function openDatabase(
  { DATABASE_DIRECT_URL, DATABASE_URL, FETCH_HOME, FETCH_POSTGRES_PORT }: Config,
  migrate: boolean,
): Promise<Store | null> {
  if (!DATABASE_URL && clusterFolder(FETCH_HOME) === null) return null;
  return await openStore(DATABASE_DIRECT_URL ?? DATABASE_URL ?? databaseUrl(FETCH_HOME, FETCH_POSTGRES_PORT), {
    max: 2,
    application: 'fetch-import',
    migrate,
  }).catch((error) => {
    if (DATABASE_URL) throw new UserError(`The database of DATABASE_URL cannot be used: ${error.message}`);
    return null;
  });
}

const doneBefore = async (store: Store | null, kind: ImportKind): Promise<ReadonlySet<string>> =>
  store ? await importedKeys(store.db, kind) : new Set();

const nanoClawDone = async (store: Store | null) => ({
  chats: await doneBefore(store, 'session'),
  tasks: await doneBefore(store, 'cron'),
  folders: await doneBefore(store, 'folder'),
});

async function readAll(
  chats: Chats,
  { root, data }: { root: string; data: string },
  store: Store | null,
): Promise<Part> {
  const { config } = chats;
  const home = config.FETCH_HOME;
  const done = (kind: ImportKind) => doneBefore(store, kind);
  const owner = config.OWNER_PHONE_NUMBER ?? ownerIn(root);
  return merged([
    readSettings({ root, home }),
    readTrusted({ data, done: await done('trusted number') }),
    readSessions({ data, done: await done('session'), chats }),
    readWorkflows({ data, done: { workflows: await done('workflow'), crons: await done('cron') }, chats, owner }),
    readCopies({ data, home }),
  ]);
}

interface Outcome {
  /** null in a dry run */
  taken: string[] | null;
  refused: Left[];
}

/** One after the other, so that a kill leaves whole things; the next import goes on where this one ended. */
async function takeAll(found: readonly Found[], into: Parameters<Found['take']>[0]): Promise<Outcome> {
  const taken: string[] = [];
  const refused: Left[] = [];
  for (const { what, here, take } of found) {
    if (here) continue;
    const why = await take(into);
    if (why === null) taken.push(what);
    else refused.push({ what, why });
  }
  return { taken, refused };
}

function report({ found, left, problems }: Part, { taken, refused }: Outcome, home: string): boolean {
  if (taken) say(heading('Taken over', taken));
  const before = found.filter(({ here }) => here).length;
  if (before > 0)
    say(
      `${counted(before, 'thing')} ${before === 1 ? 'is' : 'are'} here already and stay${before === 1 ? 's' : ''} as ${before === 1 ? 'it is' : 'they are'}.\n`,
    );
  const stays = [...refused, ...left];
  if (stays.length > 0)
    say(
      heading(
        'Not taken over',
        stays.map(({ what, why }) => `${what}: ${why}`),
      ),
    );
  if (problems.length > 0) say(heading('Could not be read', problems.map(problemLine)));
  if (taken?.some((what) => what.startsWith('setting ')))
    say(`Settings are in ${home}/.env. Some need a restart: fetch stop, then fetch up.`);
  return problems.length === 0;
}

/** Names come from files of others, and a terminal obeys control characters. */
const heading = (title: string, lines: readonly string[]): string =>
  `${title} (${lines.length}):\n${lines.map((line) => `  - ${visibleLine(line.replaceAll('\n', ' '))}\n`).join('')}`;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
