import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { PACKAGE_ROOT } from '../../installation.ts';

/**
 * The built page (`scripts/page.ts`), in memory: it is small, and a build that runs meanwhile cannot mix two of them.
 */
export type PageFiles = ReadonlyMap<string, PageFile>;

export interface PageFile {
  type: string;
  data: Buffer;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webmanifest': 'application/manifest+json',
};

/** Empty when the page was not built, such as in a clone without the packages of developers. */
export function readPageFiles(folder = join(PACKAGE_ROOT, 'dist', 'page')): PageFiles {
  try {
    return new Map(
      readdirSync(folder)
        .filter((name) => extname(name) in TYPES)
        .map((name) => [name, { type: TYPES[extname(name)]!, data: readFileSync(join(folder, name)) }]),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw error;
  }
}
