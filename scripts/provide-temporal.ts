import { tmpdir } from 'node:os';
import { temporalCache } from '../src/cli/instance/instance.ts';
import { childEnvironment } from '../src/config.ts';
import { provideTemporal } from '../temporal/server.ts';

/** Makes sure that a Temporal server exists before the tests, so that no test waits for a download or a build. */
const env = childEnvironment({});
let last = '';
const binary = await provideTemporal({
  home: tmpdir(),
  cache: temporalCache(env),
  env,
  onProgress: ({ text, done, total }) => {
    const line = total ? `${text} ${Math.floor(((done ?? 0) / total) * 10) * 10} %` : text;
    if (line !== last) console.log(line);
    last = line;
  },
}).catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
console.log(`Temporal CLI ${binary.cli}, server ${binary.server}`);
