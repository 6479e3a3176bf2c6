import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Progress of the current work. `done` and `total` are bytes of a download; without `total` its length is unknown. */
export interface Progress {
  text: string;
  done?: number;
  total?: number;
}

/** The Go of this machine. */
export const findGo = (env: Record<string, string>): string | undefined =>
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
    const { stdout } = await promisify(execFile)(go, ['env', 'GOBIN', 'GOPATH'], { env, timeout: 10_000 }).catch(
      () => ({ stdout: '' }),
    );
    add(...(stdout.split('\n').map((line) => line.trim()) as [string, string]));
  } else if (env.HOME) add(undefined, join(env.HOME, 'go'));
  return [...folders];
}

/** The first writable one of `folders`. */
export function writableFolder(folders: readonly string[]): string {
  const problems: string[] = [];
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      rmSync(mkdtempSync(join(folder, '.try-')), { recursive: true });
      return folder;
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  throw new Error(`nowhere to put it: ${problems.join('; ')}`);
}
