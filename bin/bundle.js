import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * The URL of the bundle that `npm ci` made of a clone (scripts/bundle.ts), if every file that went into it is as it was
 * then.
 */
export function freshBundle(root) {
  const folder = join(root, 'dist', 'bundles');
  try {
    const { main, files } = JSON.parse(readFileSync(join(folder, 'latest.json'), 'utf8'));
    const asItWas = ([file, size, mtimeMs]) => {
      const now = statSync(join(root, file));
      return now.size === size && now.mtimeMs === mtimeMs;
    };
    return files.every(asItWas) ? pathToFileURL(join(folder, main)).href : undefined;
  } catch {
    return undefined;
  }
}
