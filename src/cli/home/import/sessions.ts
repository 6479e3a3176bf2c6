import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import type { Source } from '../../../contracts/taint.ts';
import { storableText } from '../../../domain/text/storable.ts';
import { canonicalUser } from '../../../domain/whatsapp/identity.ts';
import { channelThread } from '../../../gateway/intake/threads.ts';
import { importHistory, originalSessions, type PastMessage } from '../../../store/home/imports.ts';
import { keepContact } from '../../../store/whatsapp/contacts.ts';
import { type Into, JsonFile, nothing, type Part, type Problem, unreadable } from './files.ts';

/** What was said with the original: each session becomes the history of a WhatsApp chat. */

/** The account of `fetch pair`. */
const ACCOUNT = 'default';

export interface Chats {
  config: Config;
  /** key of the hash in ids of chats */
  secret: string;
}

export function readSessions({ data, done, chats }: { data: string; done: ReadonlySet<string>; chats: Chats }): Part {
  const part = nothing();
  for (const { session, place } of storedSessions(data, part.problems)) {
    const what = `session ${session.id}`;
    const person = personOf(session.userId);
    if (!person) {
      part.left.push({ what, why: 'its user has no address on WhatsApp' });
      continue;
    }
    const { messages, broken, tools } = messagesOf(session);
    if (broken > 0)
      part.problems.push({
        ...place,
        text: `Session ${session.id}: ${counted(broken, 'message')} cannot be read, and ${broken === 1 ? 'is' : 'are'} left out.`,
      });
    if (tools > 0)
      part.left.push({
        what: `${counted(tools, 'result')} of tools in ${what}`,
        why: 'what was said is taken over, and what tools printed is not',
      });
    if (session.preferences?.autonomyLevel === 'autonomous')
      part.left.push({
        what: `autonomy of ${what}`,
        why: 'it means more here: say `auto` in that chat if you want it',
      });
    if (session.currentProject)
      part.left.push({
        what: `active project of ${what}`,
        why: `say \`project ${session.currentProject.name}\` when the project is here`,
      });
    if (messages.length === 0) part.left.push({ what, why: 'nothing was said in it' });
    else
      part.found.push({
        what: `${what} of ${session.userId}: ${counted(messages.length, 'message')}`,
        here: done.has(session.id),
        take: (into) => take(into, chats, { session, person, messages }),
      });
  }
  return part;
}

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

interface Person {
  lid: string | null;
  pn: string | null;
}

export function personOf(userId: string): Person | null {
  const jid = canonicalUser(userId);
  if (/^\d{5,20}@s\.whatsapp\.net$/.test(jid)) return { lid: null, pn: jid };
  return /^\d{5,20}@lid$/.test(jid) ? { lid: jid, pn: null } : null;
}

/** The chat of a person, as the gateway would make it at the next message. */
export async function chatOf(
  { db }: Pick<Into, 'db'>,
  { config, secret }: Chats,
  person: Person,
): Promise<{ id: string }> {
  const { chatAddress } = await keepContact(db, ACCOUNT, { ...person, name: null, replyJid: person.pn ?? person.lid });
  return await channelThread({ db, config, secret }, 'whatsapp', chatAddress);
}

async function take(
  into: Into,
  chats: Chats,
  { session, person, messages }: { session: StoredSession; person: Person; messages: PastMessage[] },
): Promise<string | null> {
  const { id } = await chatOf(into, chats, person);
  const supervised = session.preferences?.autonomyLevel === 'supervised';
  const done = await importHistory(into.db, id, { key: session.id, messages, supervised });
  return done === 'used' ? 'something was said in this chat here already' : null;
}

/** Tools of the original that bring text of strangers into an answer. */
const FOREIGN: ReadonlyArray<readonly [RegExp, Source['kind']]> = [
  [/^(?:web_fetch|browser_)/, 'page'],
  [/^(?:web_search|github_)/, 'search'],
  [/^(?:task_|workflow_)/, 'report'],
  [/^(?:app_|file_|workspace_)/, 'command'],
];

function messagesOf({ messages }: StoredSession): { messages: PastMessage[]; broken: number; tools: number } {
  const said: PastMessage[] = [];
  let [broken, tools] = [0, 0];
  let read = new Map<string, Source>();
  for (const written of messages) {
    const { role, content, timestamp, toolCall } = (written ?? {}) as Record<string, unknown>;
    const at = new Date(typeof timestamp === 'string' ? timestamp : Number.NaN);
    if (
      typeof content !== 'string' ||
      Number.isNaN(at.getTime()) ||
      !['user', 'assistant', 'tool'].includes(role as string)
    )
      broken += 1;
    else if (role === 'tool') {
      tools += 1;
      const name = String((toolCall as { name?: unknown } | null)?.name ?? '');
      const kind = FOREIGN.find(([pattern]) => pattern.test(name))?.[1] ?? 'unknown';
      read.set(kind, { kind, label: `an earlier ${basename(name) || 'tool'}`.slice(0, 80) });
    } else {
      if (role === 'user') read = new Map();
      // the original keeps an empty text beside calls of tools
      if (content.trim() !== '')
        said.push({
          role: role as 'user' | 'assistant',
          content: storableText(content),
          at: inOrder(at, said.at(-1)?.at),
          sources: [...read.values()],
        });
    }
  }
  return { messages: said, broken, tools };
}

/** Not before the one before it, and not in the future: clocks of containers jump. */
export const inOrder = (at: Date, before: Date | undefined): Date =>
  new Date(Math.min(Math.max(at.getTime(), before?.getTime() ?? 0), Date.now()));

/**
 * The sessions of the original as they are stored: rows of an SQLite file, or a list in a JSON file of older versions.
 */

/** The fields of a session that are used. The original adds fields from version to version. */
const session = z.object({
  id: z.string().min(1).max(200),
  userId: z.string().min(1).max(200),
  messages: z.array(z.unknown()),
  currentProject: z.object({ name: z.string() }).nullish(),
  preferences: z.object({ autonomyLevel: z.string().optional() }).nullish(),
});
type StoredSession = z.output<typeof session>;

/** Where a session was read. */
interface Place {
  file: string;
  line: number | null;
}

function storedSessions(data: string, problems: Problem[]): Array<{ session: StoredSession; place: Place }> {
  const rows = [...inDatabase(join(data, 'sessions.db'), problems), ...inJson(join(data, 'sessions.json'), problems)];
  const known = new Set<string>();
  return rows.flatMap(({ value, name, place }) => {
    const read = session.safeParse(value);
    if (!read.success) {
      problems.push({
        ...place,
        text: `Session ${name} cannot be read: ${read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}.`,
      });
      return [];
    }
    // the newer file comes first
    if (known.has(read.data.id)) return [];
    known.add(read.data.id);
    return [{ session: read.data, place }];
  });
}

type Row = { value: unknown; name: string; place: Place };

function inDatabase(file: string, problems: Problem[]): Row[] {
  if (!existsSync(file)) return [];
  const place = { file, line: null };
  const why = [file, `${file}-wal`].map((each) => unreadable(each)).find((text) => text !== null);
  try {
    if (why) throw new Error(`it ${why}`);
    return originalSessions(file).flatMap(({ id, data }) => rowOf(id, data, place, problems));
  } catch (error) {
    problems.push({ ...place, text: `It cannot be read: ${(error as Error).message}.` });
    return [];
  }
}

function rowOf(id: string, data: string, place: Place, problems: Problem[]): Row[] {
  try {
    return [{ value: JSON.parse(data), name: id, place }];
  } catch (error) {
    problems.push({ ...place, text: `Session ${id} is no JSON: ${(error as Error).message}.` });
    return [];
  }
}

function inJson(file: string, problems: Problem[]): Row[] {
  const json = JsonFile.read(file, problems);
  return (json?.list('sessions', problems) ?? []).map((value, at) => ({
    value,
    name: String(at + 1),
    place: { file, line: json!.lineOf('sessions', at) },
  }));
}
