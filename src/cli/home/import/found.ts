import type { Db } from '../../../store/postgres/database.ts';

/** What is found in the folder of another installation. */

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
