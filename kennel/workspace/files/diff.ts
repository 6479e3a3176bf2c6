import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { environment } from '../git/git.ts';
import { run } from '../git/process.ts';
import { bounded } from '../limits.ts';

/**
 * Compares two texts; null means no file. Returns the unified diff with `a/` and `b/` before the path, and its line
 * counts.
 */
export function unifiedDiff(
  path: string,
  before: string | null,
  after: string | null,
): { diff: string; added: number; removed: number } {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-diff-'));
  try {
    const side = (name: 'a' | 'b', text: string | null): string => {
      if (text === null) return '/dev/null';
      const file = join(folder, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return `${name}/${path}`;
    };
    const env = {
      PATH: environment.PATH ?? '/usr/bin:/bin',
      HOME: folder,
      LC_ALL: 'C.UTF-8',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CEILING_DIRECTORIES: tmpdir(),
    };
    const options = [
      '--no-pager',
      '-c',
      'core.quotePath=false',
      'diff',
      '--no-index',
      '--no-prefix',
      '--no-color',
      '--no-ext-diff',
      '--no-textconv',
      '--text',
    ];
    const ran = run('git', [...options, '--', side('a', before), side('b', after)], { cwd: folder, env });
    if (ran.code !== 0 && ran.code !== 1) throw new Error(`git diff: ${ran.stderr.trim()}`);
    const text = Buffer.from(ran.stdout, 'latin1').toString('utf8');
    const lines = text.slice(Math.max(0, text.indexOf('\n@@'))).split('\n');
    const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
    return { diff: bounded(text), added: count('+'), removed: count('-') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
