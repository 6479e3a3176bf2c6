import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `npm run build`, which `npm pack` calls, makes what an installed package runs. `dist` has the sources as JavaScript with source maps, because Node strips no
 * types below `node_modules`. A clone never needs it.
 */

const root = fileURLToPath(new URL('..', import.meta.url));

// a deleted module must not be published
rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
cpSync(join(root, 'temporal/build'), join(root, 'dist/temporal/build'), { recursive: true });
