import type { AgentName } from '../../contracts/kennel.ts';
import { isTooDeep } from '../text/lenient-json.ts';
import { withoutSecrets } from '../text/secrets.ts';
import { prefix } from '../text/storable.ts';

/**
 * The session files of Claude Code and Codex, as far as a session that moves to another machine needs it: one JSON
 * object a line, as both write it.
 */

export const SESSION_AGENTS = ['claude', 'codex'] as const satisfies readonly AgentName[];
export type SessionAgent = (typeof SESSION_AGENTS)[number];

export const isSessionAgent = (name: string): name is SessionAgent => SESSION_AGENTS.some((agent) => agent === name);

/** Both agents name sessions by a UUID. */
export const SESSION_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

type Line = Record<string, unknown>;

const objectOf = (value: unknown): Line | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Line) : null;

/** The lines that are whole. A process that was killed leaves half a line, which its agent skips as well. */
export function linesOfSession(text: string): Line[] {
  return text.split('\n').flatMap((written) => {
    if (written.trim() === '') return [];
    try {
      const line = objectOf(JSON.parse(written));
      return line && !isTooDeep(line) ? [line] : [];
    } catch {
      return [];
    }
  });
}

interface SessionFacts {
  id: string;
  /** the folder that it began in */
  folder: string;
  /** RFC 3339 */
  startedAt: string;
  /** the first words of the person, on one line */
  title: string;
}

/** What a session says of itself; null for a text that is no session of this agent with anything said in it. */
export function factsOfSession(agent: SessionAgent, text: string): SessionFacts | null {
  const lines = linesOfSession(text);
  const facts = agent === 'claude' ? factsOfClaude(lines) : factsOfCodex(lines);
  return facts && SESSION_ID.test(facts.id) && facts.folder !== '' ? facts : null;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function factsOfClaude(lines: readonly Line[]): SessionFacts | null {
  const said = lines.filter(({ type }) => type === 'user' || type === 'assistant');
  const first = said.find(({ sessionId, cwd }) => textOf(sessionId) !== '' && textOf(cwd) !== '');
  if (!first) return null;
  const words = said
    .filter(({ type, isMeta }) => type === 'user' && isMeta !== true)
    .flatMap(({ message }) => wordsOf(objectOf(message)?.content));
  return {
    id: textOf(first.sessionId),
    folder: textOf(first.cwd),
    startedAt: textOf(first.timestamp),
    title: titleOf(words),
  };
}

function factsOfCodex(lines: readonly Line[]): SessionFacts | null {
  const meta = objectOf(lines.find(({ type }) => type === 'session_meta')?.payload);
  const payloads = lines.filter(({ type }) => type !== 'session_meta').map(({ payload }) => objectOf(payload));
  if (!meta || !payloads.some((payload) => payload?.type === 'message')) return null;
  const words = payloads.flatMap((payload) => (payload?.type === 'user_message' ? [textOf(payload.message)] : []));
  const said = payloads.flatMap((payload) => (payload?.role === 'user' ? wordsOf(payload.content) : []));
  return {
    id: textOf(meta.id),
    folder: textOf(meta.cwd),
    startedAt: textOf(meta.timestamp),
    title: titleOf(words.length > 0 ? words : said),
  };
}

function wordsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  return Array.isArray(content) ? content.map((part) => textOf(objectOf(part)?.text)) : [];
}

/** Agents write notes of their own as words of the person, in angle brackets. */
const titleOf = (words: readonly string[]): string =>
  prefix((words.find((text) => text.trim() !== '' && !/^\s*[<#[]/.test(text)) ?? '').replace(/\s+/g, ' ').trim(), 100);

/** Whether a folder is this folder, or lies in it. */
export const isWithin = (folder: string, root: string): boolean =>
  folder === root || folder.startsWith(root.endsWith('/') || root.endsWith('\\') ? root : `${root}/`);

interface Moved {
  text: string;
  /** how much of it looked like a key, and is not in the text */
  secrets: number;
}

/**
 * A session as it goes on elsewhere: paths in the folder `from` lie in `to`, what looks like a key is gone, and so is
 * what only the first machine has. `own`: keys of this installation, which may have any format.
 */
export function movedSession(
  text: string,
  { from, to, own = [] }: { from: string; to: string; own?: readonly string[] },
): Moved {
  let secrets = 0;
  const path = new RegExp(`(?<![\\w.~-])${RegExp.escape(from)}(?![\\w-]|\\.[\\w-])`, 'g');
  const change = (words: string): string => {
    const { text: plain, found } = withoutSecrets(words, own);
    secrets += found;
    return from === to ? plain : plain.replace(path, () => to);
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value);
    if (Array.isArray(value)) return value.filter((each) => !isBoundThought(each)).map(walk);
    const object = objectOf(value);
    // a signature holds for these very words
    if (!object || object.type === 'thinking' || object.type === 'redacted_thinking') return value;
    for (const [key, held] of Object.entries(object)) object[key] = walk(held);
    return object;
  };
  const isBoundThought = (value: unknown): boolean => {
    const object = objectOf(value);
    const found = object?.type === 'thinking' ? withoutSecrets(textOf(object.thinking), own).found : 0;
    secrets += found;
    return found > 0 || object?.type === 'reasoning';
  };
  const lines = linesOfSession(text).filter((line) => !staysBehind(line, isBoundThought));
  for (const line of lines) {
    // a name that only the settings of one machine know
    if (line.type === 'session_meta') delete objectOf(line.payload)?.model_provider;
    walk(line);
  }
  return { text: lines.map((line) => `${JSON.stringify(line)}\n`).join(''), secrets };
}

/**
 * Copies of files for an undo, which lie beside the session, and encrypted thoughts of Codex, which the provider reads
 * only for the account that they were made for.
 */
const staysBehind = ({ type, payload }: Line, isBoundThought: (value: unknown) => boolean): boolean =>
  type === 'file-history-snapshot' || (type === 'response_item' && isBoundThought(payload));
