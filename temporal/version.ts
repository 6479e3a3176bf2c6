import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The oldest server whose API this project uses (user metadata, updates with start, eager execution). */
export const MIN_SERVER = '1.27.0';
export const MIN_CLI = '1.3.0';
/** The CLI that is downloaded or built when none is found; all measurements were made with it. */
export const CLI_VERSION = '1.5.1';
/**
 * The server of our own build, in place of the CLI's 1.29.1: the same minor version and so the same database file, with
 * security fixes (`build/go.mod`).
 */
export const BUILT_SERVER = '1.29.7';

export interface TemporalBinary {
  path: string;
  /** `0.0.0-DEV` when built with `go install` */
  cli: string;
  server: string;
}

/** Negative when `a` is older than `b`; suffixes such as `-rc.1` are not compared. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(/[-+]/)[0]!.split('.').map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (left![index] || 0) - (right![index] || 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** `temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)`; null for anything else. */
export function parseVersion(output: string): { cli: string; server: string } | null {
  const found = /temporal version (\S+) \(Server (\d+\.\d+\.\d+[^,\s)]*)/.exec(output);
  return found ? { cli: found[1]!, server: found[2]! } : null;
}

/**
 * Why a binary does not fit, or null when it does. A build from source has no CLI version, but always a server version.
 */
export function misfit({ cli, server }: { cli: string; server: string }): string | null {
  if (compareVersions(server, MIN_SERVER) < 0) return `its server is ${server}, older than ${MIN_SERVER}`;
  if (compareVersions(server, '2.0.0') >= 0) return `its server is ${server}, a major version that was never tried`;
  if (cli !== '0.0.0-DEV' && compareVersions(cli, MIN_CLI) < 0) return `its CLI is ${cli}, older than ${MIN_CLI}`;
  return null;
}

/** Runs the binary to read its versions. Throws, with the reason, when it does not run or does not fit. */
export async function inspect(path: string): Promise<TemporalBinary> {
  let output: string;
  try {
    output = (await promisify(execFile)(path, ['--version'], { timeout: 20_000 })).stdout;
  } catch (error) {
    throw new Error(`${path} does not run: ${(error as Error).message.split('\n')[0]}`);
  }
  const version = parseVersion(output);
  if (!version) throw new Error(`${path} is not the Temporal CLI (it says "${output.trim().slice(0, 80)}")`);
  const reason = misfit(version);
  if (reason) throw new Error(`${path} does not fit: ${reason}`);
  return { path, ...version };
}
