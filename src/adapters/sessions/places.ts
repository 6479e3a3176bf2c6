import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { factsOfSession, isWithin, type SessionAgent } from '../../domain/tasks/session-text.ts';

/** Where coding agents keep their sessions, below HOME. */

/** Claude Code names the folder of a project after its path. */
const claudeFolder = (root: string): string => join('.claude', 'projects', root.replace(/[^A-Za-z0-9]/g, '-'));
const CODEX_SESSIONS = join('.codex', 'sessions');

/** Where an agent looks for a session when it works in `root`. Relative to HOME. */
function placeOfSession(agent: SessionAgent, id: string, { root, text }: { root: string; text: string }): string {
  if (agent === 'claude') return join(claudeFolder(root), `${id}.jsonl`);
  const said = new Date(factsOfSession(agent, text)?.startedAt ?? '');
  const at = (Number.isNaN(said.getTime()) ? new Date() : said).toISOString().slice(0, 19);
  return join(CODEX_SESSIONS, ...at.slice(0, 10).split('-'), `rollout-${at.replaceAll(':', '-')}-${id}.jsonl`);
}

/** Writes a session where its agent finds it. What lies there already stays beside it, as `.before`. */
export async function placeSession(
  home: string,
  agent: SessionAgent,
  id: string,
  moved: { root: string; text: string },
): Promise<void> {
  const known = await findSession(home, agent, id);
  const path = known ?? join(home, placeOfSession(agent, id, moved));
  await mkdir(dirname(path), { recursive: true });
  if (known) await rename(known, `${known}.before`);
  await writeFile(path, moved.text, { mode: 0o600, flag: 'wx' });
}

/** The file of a session; null when there is none. */
export async function findSession(home: string, agent: SessionAgent, id: string): Promise<string | null> {
  const isNamed = (name: string) => (agent === 'claude' ? name === `${id}.jsonl` : name.endsWith(`-${id}.jsonl`));
  return (await filesOf(home, agent)).find((file) => isNamed(basename(file))) ?? null;
}

/** Takes a session out of the HOME of a task that has ended. Its containers must be gone. */
export async function keepSession(runFolder: string, agent: SessionAgent, id: string): Promise<void> {
  const path = await findSession(join(runFolder, 'home'), agent, id);
  if (!path || (await lstat(path)).size > MOST_BYTES) return;
  const kept = keptSession(runFolder);
  await rm(kept, { recursive: true, force: true });
  await rename(path, kept);
}

export const KEPT_SESSION = 'session.jsonl';
export const keptSession = (runFolder: string): string => join(runFolder, KEPT_SESSION);

/**
 * The content of a session of a container that has ended. A container can write its HOME, so no link is followed. Null
 * when there is none, or when it is larger than a session is.
 */
export async function readSessionFile(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (!file) return null;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size <= MOST_BYTES ? await file.readFile('utf8') : null;
  } finally {
    await file.close();
  }
}

const MOST_BYTES = 200 * 1024 * 1024;

interface FoundSession {
  agent: SessionAgent;
  id: string;
  text: string;
  title: string;
}

/** The session that was written last of those that began in this folder of a project. */
export async function newestSession(
  home: string,
  root: string,
  agents: readonly SessionAgent[],
): Promise<FoundSession | null> {
  const named = agents.map(async (agent) => (await filesOf(home, agent)).map((path) => ({ agent, path })));
  const dated = (await Promise.all(named)).flat().map(async (each) => ({
    ...each,
    at: (await lstat(each.path)).mtimeMs,
  }));
  const files = (await Promise.all(dated)).sort((one, other) => other.at - one.at);
  for (const { agent, path } of files) {
    const text = await readSessionFile(path);
    const facts = text === null ? null : factsOfSession(agent, text);
    if (text !== null && facts && isWithin(await realpath(facts.folder).catch(() => facts.folder), root))
      return { agent, id: facts.id, text, title: facts.title };
  }
  return null;
}

/** Every session file, by folders that are no links. */
async function filesOf(home: string, agent: SessionAgent): Promise<string[]> {
  const top = agent === 'claude' ? ['.claude', 'projects'] : ['.codex', 'sessions'];
  let folders = [home];
  for (const name of top) folders = await foldersIn(folders, (each) => each === name);
  for (let depth = agent === 'claude' ? 1 : 3; depth > 0; depth--) folders = await foldersIn(folders);
  const listed = await Promise.all(folders.map((folder) => readdir(folder, { withFileTypes: true })));
  return listed
    .flat()
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => join(entry.parentPath, entry.name));
}

async function foldersIn(folders: readonly string[], wanted = (_: string) => true): Promise<string[]> {
  const listed = await Promise.all(folders.map((each) => readdir(each, { withFileTypes: true }).catch(() => [])));
  return listed
    .flat()
    .filter((entry) => entry.isDirectory() && wanted(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}
