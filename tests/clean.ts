import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LABEL } from '../src/adapters/kennel/docker/containers.ts';
import { removeCluster } from '../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../src/config.ts';

/**
 * Removes what tests leave on a machine when they are killed: containers, networks, mounts, network namespaces,
 * databases and folders. `.ci/run` begins with it. No other tests may run on the machine meanwhile. Images, their build
 * cache and a finished installation of this program are left alone.
 */

/** A folder that `mkdtemp` has named for a test. What later runs use again has other names. */
const OF_TEST = /^(fetch-.+|whatsapp-fixture)-[A-Za-z0-9]{6}$/;
const NAMESPACE = /^fetch-\d+-\d+$/;
const COMPOSED = 'com.docker.compose.project';
/** the machine with systemd */
const IMAGES = ['fetch-test-systemd'];

/** Lines of what a program prints; none where there is no such program, or where it refuses. */
function lines(file: string, ...args: string[]): string[] {
  try {
    return execFileSync(file, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: childEnvironment({}),
    })
      .split('\n')
      .filter(Boolean);
  } catch {
    return [];
  }
}

// an engine that was killed as well starts some containers again when it starts
if (process.getuid?.() === 0) lines(fileURLToPath(new URL('../scripts/docker-engine.sh', import.meta.url)));
const docker = (...args: string[]): string[] => lines('docker', ...args);
let removed = 0;
const remove = (file: string, ...args: string[]): void => {
  lines(file, ...args);
  removed += 1;
};

const folders = readdirSync(tmpdir())
  .filter((name) => OF_TEST.test(name))
  .map((name) => join(tmpdir(), name));
const isBelow = (path: string): boolean => folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/** Containers of a home of a test, by what they can reach. */
function ofHomes(): string[] {
  const ids = docker('ps', '-aq', '--no-trunc', '--filter', `label=${LABEL.home}`);
  if (ids.length === 0) return [];
  const found = docker('inspect', '--format', '{{.Id}}{{range .Mounts}} {{.Source}}{{end}}', ...ids).map((line) =>
    line.split(' '),
  );
  return found.filter(([, ...sources]) => sources.some(isBelow)).map(([id]) => id!);
}

const ofProjects = (kind: string[]): string[] =>
  docker(...kind, '--filter', `label=${COMPOSED}`, '--format', `{{.ID}} {{.Label "${COMPOSED}"}}`)
    .map((line) => line.split(' '))
    .filter(([, project]) => project?.startsWith('fetch-test-'))
    .map(([id]) => id!);

const containers = [
  ...ofHomes(),
  ...ofProjects(['ps', '-a', '--no-trunc']),
  ...IMAGES.flatMap((image) => docker('ps', '-aq', '--filter', `ancestor=${image}`)),
];
for (const id of new Set(containers)) remove('docker', 'rm', '--force', '--volumes', id);
for (const id of ofProjects(['network', 'ls'])) remove('docker', 'network', 'rm', id);

for (const line of lines('ip', 'netns', 'list')) {
  const name = line.split(' ')[0]!;
  if (NAMESPACE.test(name)) remove('ip', 'netns', 'del', name);
}

// the last one first: a mount may lie in another one
const mountsBelow = (): string[] =>
  lines('cat', '/proc/self/mounts')
    .map((line) => line.split(' ')[1]!)
    .filter(isBelow)
    .reverse();
for (const path of mountsBelow()) remove('umount', '--lazy', path);
const still = mountsBelow();

for (const folder of folders) {
  // a clone may be mounted there
  if (still.some((path) => path.startsWith(folder)) || lstatSync(folder).uid !== process.getuid?.()) continue;
  removeCluster(folder);
  remove('rm', '-rf', '--one-file-system', folder);
}
console.log(`${removed} leftovers of earlier tests removed`);
