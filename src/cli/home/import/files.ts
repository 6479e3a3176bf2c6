import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Db } from '../../../store/postgres/database.ts';

/** Files in the folder of another installation. */

/** Something that can be taken over. */
export interface Found {
  /** as people read it, with its kind */
  what: string;
  /** it is here already, by an earlier import or in another way */
  here: boolean;
  /** Takes it over; a text says why that was not possible. A second call changes nothing. */
  take(into: Into): Promise<string | null>;
}

/** Something that stays where it is. */
export interface Left {
  what: string;
  why: string;
}

/** A file that cannot be read as it should. */
export interface Problem {
  file: string;
  /** from 1; null where a file has no lines */
  line: number | null;
  text: string;
}

export interface Part {
  found: Found[];
  left: Left[];
  problems: Problem[];
}

/** Where it is taken to. */
export interface Into {
  db: Db;
  home: string;
}

export const nothing = (): Part => ({ found: [], left: [], problems: [] });

export const merged = (parts: readonly Part[]): Part => ({
  found: parts.flatMap(({ found }) => found),
  left: parts.flatMap(({ left }) => left),
  problems: parts.flatMap(({ problems }) => problems),
});

export const problemLine = ({ file, line, text }: Problem): string =>
  `${file}${line === null ? '' : `:${line}`}: ${text}`;

/** Files of another installation. They may be broken, and links may lead anywhere. */

/** Files of the original are far smaller. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Only an installation of the original has these. */
const OWN_PARTS = [
  ...['sessions.db', 'sessions.json', 'workflows.json', 'whitelist.json'],
  ...['identity', 'tasks.db', '.wwebjs_auth'],
];

/**
 * The folder with the data, and the one with `.env`, whichever of the two was named. Null when it is no installation.
 * `configured`: its `.env` has a setting of Fetch.
 */
export function foldersOf(from: string, configured: boolean): { root: string; data: string } | null {
  const has = (folder: string): boolean => OWN_PARTS.some((name) => existsSync(join(folder, name)));
  const inside = join(from, 'data');
  if (configured || (isFolder(inside) && has(inside))) return { root: from, data: inside };
  return has(from) ? { root: basename(from) === 'data' ? join(from, '..') : from, data: from } : null;
}

export const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Why a file is not read; null when it can be, or is not there. */
export function unreadable(file: string, most = MOST_BYTES): string | null {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return null;
  if (stat.isSymbolicLink()) return 'is a link, which is not followed';
  if (!stat.isFile()) return 'is no plain file';
  return stat.size > most ? `has more than ${most / 1024 / 1024} MB` : null;
}

/** The text of a file; null when there is none, or it cannot be read, which becomes a problem. */
export function textOf(file: string, problems: Problem[]): string | null {
  const why = unreadable(file);
  if (why !== null) problems.push({ file, line: null, text: `It ${why}.` });
  if (why !== null || !existsSync(file)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    problems.push({
      file,
      line: null,
      text: error instanceof TypeError ? 'It is no text in UTF-8.' : (error as Error).message,
    });
    return null;
  }
}

/** A JSON file, with the lines that its parts are on. */
export class JsonFile {
  readonly file: string;
  private readonly text: string;
  private readonly root: Node;

  private constructor(file: string, text: string, root: Node) {
    this.file = file;
    this.text = text;
    this.root = root;
  }

  /** Null when there is no such file, or it is no JSON, which becomes a problem. */
  static read(file: string, problems: Problem[]): JsonFile | null {
    const text = textOf(file, problems);
    if (text === null || text.trim() === '') return null;
    const errors: ParseError[] = [];
    const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
    const [first] = errors;
    if (first || !root) {
      problems.push({
        file,
        line: lineAt(text, first?.offset ?? 0),
        text: `It is no JSON (${first ? printParseErrorCode(first.error) : 'empty'}).`,
      });
      return null;
    }
    return new JsonFile(file, text, root);
  }

  /** The value of the whole file. */
  value(): unknown {
    return getNodeValue(this.root);
  }

  /** The line where a part begins, or the nearest part around it. */
  lineOf(...path: Array<string | number>): number {
    let node = this.root;
    for (const step of path) {
      const inner: Node | undefined =
        typeof step === 'number'
          ? node.children?.[step]
          : node.children?.find(({ children }) => children?.[0]?.value === step)?.children?.[1];
      if (!inner) break;
      node = inner;
    }
    return lineAt(this.text, node.offset);
  }

  /** The members of a list in the file, which is an object; a problem when it is another thing. */
  list(name: string, problems: Problem[]): unknown[] {
    const all = this.value();
    const list =
      typeof all === 'object' && all !== null && !Array.isArray(all) ? (all as Record<string, unknown>)[name] : null;
    if (list === undefined) return [];
    if (Array.isArray(list)) return list;
    problems.push({ file: this.file, line: this.lineOf(name), text: `"${name}" must be a list.` });
    return [];
  }
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
