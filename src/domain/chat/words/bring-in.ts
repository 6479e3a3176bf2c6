import { isTooLong } from './commands.ts';

/**
 * A project that a message brings in: `clone https://…`, `open /home/ada/shop`, each with `as NAME` where the name is
 * to be another.
 */
interface BringIn {
  /** an address, an absolute path, or one that begins with `~/` */
  from: string;
  name?: string;
}

/** What a whole message brings in; null when it is about something else, such as "open the door". */
export function parseBringIn(text: string): BringIn | null {
  if (isTooLong(text)) return null;
  const [, word, what, name] = /^\/?(clone|open) (.{1,180}?)(?: as ([\w-]{1,64}))?$/i.exec(text.trim()) ?? [];
  if (!word || !what) return null;
  const address = word.toLowerCase() === 'clone' ? addressIn(what) : null;
  const from = address ?? pastedPath(what);
  return from ? { from, ...(name && { name }) } : null;
}

const addressIn = (text: string): string | null =>
  /^(?:(?:https?|ssh|git):\/\/|[\w.-]+@[\w.-]+:)\S+$/i.test(text) ? text : null;

/**
 * The path that a terminal pastes when a folder is dragged into it: in quotes, with `\` before blanks, or as file://.
 * Null for what is no absolute path.
 */
export function pastedPath(text: string): string | null {
  const plain = text.trim();
  const quoted = /^'([^']+)'$|^"([^"]+)"$/.exec(plain);
  const path = quoted
    ? (quoted[1] ?? quoted[2]!)
    : /^file:\/\//i.test(plain)
      ? fromFileUrl(plain)
      : plain.replace(/\\(.)/g, '$1');
  return path !== null && /^(?:~?\/)[^\0]/.test(path) ? path.replace(/(?<!^|\/)\/+$/, '') : null;
}

function fromFileUrl(url: string): string | null {
  try {
    return decodeURIComponent(url.replace(/^file:\/\/(?:localhost(?=\/))?/i, ''));
  } catch {
    return null;
  }
}

/** A name for the workspace, from the last part of an address or a path; null when nothing of it can be one. */
export function nameFrom(from: string): string | null {
  const last =
    from
      .split(/[?#]/, 1)[0]!
      .split(/[/:]/)
      .findLast((part) => part !== '' && part !== '.git') ?? '';
  const plain = last
    .replace(/\.git$/i, '')
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]/g, '-')
    .replace(/^[-_]{1,64}/, '')
    .slice(0, 64);
  return plain || null;
}
