import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { packSession } from '../../../adapters/sessions/bundle.ts';
import { findSession, newestSession, readSessionFile } from '../../../adapters/sessions/places.ts';
import { UserError } from '../../../contracts/user-error.ts';
import {
  factsOfSession,
  isWithin,
  movedSession,
  SESSION_AGENTS,
  SESSION_ID,
  type SessionAgent,
} from '../../../domain/tasks/session-text.ts';
import { visibleLine } from '../../../domain/text/evidence.ts';
import { rootOf } from './own-git.ts';
import { workIn } from './working-tree.ts';

/** `fetch hand-over`: a session of a coding agent on this machine, with its work, as a file for the chat. */

interface HandOver {
  /** id of the session; the newest one of the folder when left out */
  session?: string;
  out?: string;
  /** where the agents of this machine have their sessions */
  home?: string;
}

/** Writes the file, or prints it where the output is piped. Returns what to tell. @throws UserError */
export async function handOver(named: string, { session: id, out, home = homedir() }: HandOver): Promise<string> {
  const root = realpathSync(await rootOf(resolve(named)));
  const found = id === undefined ? await newestSession(home, root, SESSION_AGENTS) : await sessionOf(home, id);
  if (!found)
    throw new UserError(
      id === undefined
        ? `No session of Claude Code or Codex began in ${root}.`
        : `There is no session ${id} of Claude Code or Codex on this machine.`,
    );
  const { folder } = factsOfSession(found.agent, found.text)!;
  if (!isWithin(existsSync(folder) ? realpathSync(folder) : folder, root))
    throw new UserError(`The session ${found.id} began in ${folder}, which is not in ${root}. Name its folder.`);
  const { leftOut, ...work } = await workIn(root);
  const { text, secrets } = movedSession(found.text, { from: root, to: root });
  const { agent, title } = found;
  const about = { agent, sessionId: found.id, title, project: basename(root), root, ...work };
  const data = await packSession({ ...about, session: text });
  const tells = [
    `The session “${visibleLine(title)}” of ${agent === 'claude' ? 'Claude Code' : 'Codex'}.`,
    ...(work.unfinished ? ['What is not committed goes with it.'] : []),
    ...(leftOut.length > 0 ? [`These look like keys and stay here: ${leftOut.map(visibleLine).join(', ')}.`] : []),
    ...(secrets > 0 ? [`${secrets} places in the session looked like keys, and were taken out.`] : []),
  ];
  const piped = out === undefined && !process.stdout.isTTY;
  const file = resolve(out ?? join(dirname(root), `${basename(root)}.session.gz`));
  if (piped) process.stdout.write(data);
  else writeFileSync(file, data, { mode: 0o600 });
  const next = piped ? 'Send the file' : `Send ${file}`;
  return `${tells.join('\n')}\n${next} to your chat with the word: take\nEnd the agent here first; what it does from now on is not in it.\n`;
}

async function sessionOf(home: string, id: string): ReturnType<typeof newestSession> {
  if (!SESSION_ID.test(id)) return null;
  for (const agent of SESSION_AGENTS) {
    const session = await readOne(home, agent, id);
    if (session) return session;
  }
  return null;
}

async function readOne(home: string, agent: SessionAgent, id: string): ReturnType<typeof newestSession> {
  const path = await findSession(home, agent, id);
  const text = path && (await readSessionFile(path));
  const facts = text ? factsOfSession(agent, text) : null;
  return text && facts ? { agent, id, text, title: facts.title } : null;
}
