import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A stand-in for ffmpeg that copies what it is given and notes how it was called: what a machine has of the real one
 * must not decide a test. `path` is a PATH on which it comes first, `called` the file with its arguments;
 * `<called>.env` has its environment.
 */
export function standInFfmpeg(folder: string): { path: string; called: string } {
  const bin = join(folder, 'ffmpeg-bin');
  const called = join(folder, 'ffmpeg-called');
  mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh\nenv > ${called}.env\necho "$@" > ${called}\nwhile [ $# -gt 1 ]; do [ "$1" = "-i" ] && from="$2"; shift; done\ncp "$from" "$1"\n`;
  writeFileSync(join(bin, 'ffmpeg'), script);
  chmodSync(join(bin, 'ffmpeg'), 0o755);
  return { path: `${bin}:${process.env.PATH}`, called };
}
