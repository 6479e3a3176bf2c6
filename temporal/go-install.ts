import { execFile, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { writableFolder } from './download.ts';
import type { Progress } from './progress.ts';

const findGo = (env: Record<string, string>): string | undefined =>
  [...(env.PATH ?? '').split(delimiter).filter(Boolean), '/usr/local/go/bin', '/usr/lib/go/bin']
    .map((folder) => join(folder, 'go'))
    .find((path) => existsSync(path));

/** Where `go install` puts binaries for this user; a `temporal` there counts as found. */
export async function goBinFolders(env: Record<string, string>): Promise<string[]> {
  const folders = new Set<string>();
  const add = (gobin: string | undefined, gopath: string | undefined) => {
    if (gobin) folders.add(gobin);
    for (const path of (gopath ?? '').split(delimiter).filter(Boolean)) folders.add(join(path, 'bin'));
  };
  add(env.GOBIN, env.GOPATH);
  const go = findGo(env);
  if (go) {
    // Go stores its own settings (`go env -w`)
    const { stdout } = await promisify(execFile)(go, ['env', 'GOBIN', 'GOPATH'], { env, timeout: 10_000 }).catch(() => ({ stdout: '' }));
    add(...(stdout.split('\n').map((line) => line.trim()) as [string, string]));
  } else if (env.HOME) add(undefined, join(env.HOME, 'go'));
  return [...folders];
}

/** The modules of the build, each pinned with its hash: the CLI, and a newer server than the CLI's own. */
const MODULES = fileURLToPath(new URL('./build/', import.meta.url));

/** Builds the CLI with Go. The first time takes 2 to 10 minutes and about 1 GB of Go's caches. Returns the path of the binary. */
export async function goBuildTemporal(options: {
  folders: readonly string[];
  env: Record<string, string>;
  onProgress: (progress: Progress) => void;
}): Promise<string> {
  const go = findGo(options.env);
  if (!go) throw new Error('Go is not installed');
  const folder = writableFolder(options.folders);
  const work = mkdtempSync(join(folder, '.go-'));
  const started = Date.now();
  const show = () =>
    options.onProgress({ text: `Temporal server: building it with Go, once (2 to 10 minutes, ${Math.round((Date.now() - started) / 1000)} s so far)` });
  const clock = setInterval(show, 1000);
  try {
    show();
    // the server's SQLite is pure Go, so no C compiler is needed
    const env = { ...options.env, CGO_ENABLED: '0', GOWORK: 'off' };
    const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
    // the program's own folder may be read only
    for (const file of ['go.mod', 'go.sum']) copyFileSync(join(MODULES, file), join(work, file));
    const args = ['build', '-mod=readonly', '-trimpath', '-o', join(work, name), 'github.com/temporalio/cli/cmd/temporal'];
    const child = spawn(go, args, { cwd: work, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-2000);
    });
    const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
    if (code !== 0) throw new Error(`go build failed: ${errors.trim().split('\n').at(-1) || `exit code ${code}`}`);
    renameSync(join(work, name), join(folder, name));
    return join(folder, name);
  } finally {
    clearInterval(clock);
    rmSync(work, { recursive: true, force: true });
  }
}
