import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findGo, type Progress, writableFolder } from './folders.ts';

/** The modules of the build, each pinned with its hash: the CLI, and a newer server than the CLI's own. */
const MODULES = fileURLToPath(new URL('./build/', import.meta.url));

/**
 * Without the tables of a debugger, which are 40 MB. The server's own workers are named by a checksum of its file, which
 * takes half of the work of each start: with a name given they compute none.
 */
const LINKED = '-s -w -X go.temporal.io/sdk/internal.binaryChecksum=fetch';

/**
 * Builds the CLI with Go. The first time takes 2 to 10 minutes and about 1 GB of Go's caches. Returns the path of the
 * binary.
 */
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
    options.onProgress({
      text: `Temporal server: building it with Go, once (2 to 10 minutes, ${Math.round((Date.now() - started) / 1000)} s so far)`,
    });
  const clock = setInterval(show, 1000);
  try {
    show();
    // the server's SQLite is pure Go, so no C compiler is needed
    const env = { ...options.env, CGO_ENABLED: '0', GOWORK: 'off' };
    const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
    // the program's own folder may be read only
    for (const file of ['go.mod', 'go.sum']) copyFileSync(join(MODULES, file), join(work, file));
    const args = [
      'build',
      '-mod=readonly',
      '-trimpath',
      ...['-ldflags', LINKED],
      '-o',
      join(work, name),
      'github.com/temporalio/cli/cmd/temporal',
    ];
    const child = spawn(go, args, { cwd: work, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-2000);
    });
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('close', resolve),
    );
    if (code !== 0) throw new Error(`go build failed: ${errors.trim().split('\n').at(-1) || `exit code ${code}`}`);
    renameSync(join(work, name), join(folder, name));
    return join(folder, name);
  } finally {
    clearInterval(clock);
    rmSync(work, { recursive: true, force: true });
  }
}
