// `npm ci` in a clone ends with this. It may run on any Node and without the packages of developers, and never fails an
// installation: without a bundle the sources run as they are. `npm pack` runs it, too, after its own build: a packed file
// with the bundles of a clone would be twice as large.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// biome-ignore lint/style/noProcessEnv: npm says there what it does
if (/^(?:pack|publish)$/.test(process.env.npm_command ?? '')) process.exit();
const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(new URL('bundle.ts', import.meta.url))], {
  encoding: 'utf8',
});
const why = stderr?.match(/^.*(?:Error|error).*$/m)?.[0] ?? stderr?.trim();
if (status !== 0)
  process.stderr.write(
    `No bundle was made, so Fetch runs from its sources: it starts slower and takes more memory. ${why}\n`,
  );
