import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { IMAGE_KINDS } from '../src/adapters/kennel/images/image-files.ts';
import { openKennel } from '../src/adapters/kennel/open-kennel.ts';
import { childEnvironment, loadConfig } from '../src/config.ts';

/** Prepares a Docker engine and every image of the kennel before the tests, so that no test waits for a build. */
const engine = spawn(fileURLToPath(new URL('docker-engine.sh', import.meta.url)), [], {
  env: childEnvironment({}),
  stdio: ['ignore', 'inherit', 'inherit'],
});
const code = await new Promise<number | null>((resolve) => engine.once('exit', resolve));
if (code !== 0) {
  // only root can install and start an engine; without one, tests that need it are skipped, which CI does not allow
  process.exit(process.getuid?.() === 0 ? 1 : 0);
}
const kennel = openKennel(loadConfig());
let last = '';
for (const kind of IMAGE_KINDS) {
  const began = Date.now();
  const name = await kennel.images
    .provide(kind, (text) => {
      if (text !== last) console.log(text);
      last = text;
    })
    .catch((error: Error) => {
      console.error(error.message);
      process.exit(1);
    });
  const seconds = (Date.now() - began) / 1000;
  console.log(`${name}${seconds > 1 ? `, ${seconds.toFixed(0)} s` : ' is there'}`);
}
