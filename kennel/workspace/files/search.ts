import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import type { WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { environment } from '../git/git.ts';
import { type Ran, run, utf8 } from '../git/process.ts';
import { bounded, LIMITS } from '../limits.ts';
import { Refusal } from '../refusal.ts';
import { shownLine } from './look.ts';
import { shown } from './names.ts';
import { existing } from './paths.ts';

export interface Searching {
  pattern: string;
  regex: boolean;
  path: string;
  glob?: string;
  limit: number;
  /** the pattern is a whole word, and no regular expression */
  symbol?: boolean;
}

export interface Hit {
  path: string;
  line: number;
  text: string;
}

/** Matching lines of text files, without ignored files. */
export function search(root: string, op: Searching): WorkspaceAnswer {
  const { hits, ran, where } = findHits(root, op);
  return answerOf(hits, ran, { limit: op.limit, none: `Nothing matches in ${shown(where)}.` });
}

/** Uses ripgrep, or `git grep` when ripgrep is missing. */
export function findHits(root: string, op: Searching): { hits: Hit[]; ran: Ran; where: string } {
  if (op.pattern === '') throw new Refusal('The pattern is empty.');
  if (/[\n\r\0]/.test(op.pattern)) throw new Refusal('The pattern must be within one line.');
  const where = existing(root, op.path);
  const top = realpathSync(root);
  const target = relative(top, where.absolute) || '.';
  const { ran, hits } = byRipgrep(top, target, op) ?? byGitGrep(top, target, op);
  if (hits.length === 0 && ran.code !== 0 && ran.code !== 1 && !ran.timedOut && !ran.cut) {
    throw new Refusal(`The search was not understood: ${ran.stderr.trim().split('\n').slice(0, 3).join(' ')}`);
  }
  return { hits, ran, where: where.path };
}

/** The lines of hits, the first `limit` of them. `none`: what is said without any. */
export function answerOf(
  hits: readonly Hit[],
  ran: Pick<Ran, 'cut' | 'timedOut'>,
  { limit, none }: { limit: number; none: string },
): WorkspaceAnswer {
  const most = Math.min(Math.max(1, Math.floor(limit)), 1_000);
  const lines = hits.slice(0, most).map((hit) => {
    const text = shownLine(hit.text);
    return `${shown(hit.path)}:${hit.line}: ${text.length > 400 ? `${text.slice(0, 400)} …` : text}`;
  });
  const more: string[] = [];
  if (hits.length > most)
    more.push(`${hits.length - most}${ran.cut || ran.timedOut ? ' or more' : ''} further matches are left out`);
  else if (ran.cut) more.push('there are further matches');
  if (ran.timedOut) more.push(`the search was ended after ${LIMITS.searchMs / 1000} s`);
  const note = more.length > 0 ? `\n… ${more.join('; ')}; narrow it by path, glob or pattern` : '';
  const output = lines.length === 0 ? none + note : bounded(lines.join('\n')) + note;
  return {
    ok: true,
    output,
    data: {
      matches: hits.length,
      files: new Set(hits.map((hit) => hit.path)).size,
      complete: !ran.cut && !ran.timedOut,
    },
  };
}

const bounds = { maxOutput: 8 * 1024 * 1024, timeoutMs: LIMITS.searchMs };

const env = (): Record<string, string> => ({
  PATH: environment.PATH ?? '/usr/bin:/bin',
  HOME: '/nonexistent',
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  // no repository may be found, so that no configuration of one is read
  GIT_CEILING_DIRECTORIES: '/',
  GIT_DIR: '/nonexistent',
});

/** Null when ripgrep is not installed. */
function byRipgrep(top: string, target: string, op: Searching): { ran: Ran; hits: Hit[] } | null {
  const args = ['--no-config', '--json', '--no-messages', '--hidden', '--no-require-git', '--no-ignore-parent'];
  args.push(`--max-filesize=${LIMITS.searchBytes}`, '--sort=path', '--threads=2');
  if (op.symbol) args.push('--word-regexp');
  if (op.symbol || !op.regex) args.push('--fixed-strings');
  if (op.glob) args.push(`--glob=${op.glob}`);
  // of several matching globs the last one counts
  args.push('--glob=!.git');
  try {
    const ran = run('rg', [...args, '--regexp', op.pattern, '--', target], { cwd: top, env: env(), ...bounds });
    return { ran, hits: ran.stdout.split('\n').flatMap(ripgrepHit) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

type Told = { text?: string; bytes?: string };

function ripgrepHit(json: string): Hit[] {
  if (!json.startsWith('{"type":"match"')) return [];
  const told = ({ text, bytes }: Told) => text ?? Buffer.from(bytes ?? '', 'base64').toString('utf8');
  try {
    const { data } = JSON.parse(utf8(json)) as { data: { path: Told; lines: Told; line_number: number } };
    return [
      {
        path: told(data.path).replace(/^\.\//, ''),
        line: data.line_number,
        text: told(data.lines).replace(/\r?\n$/, ''),
      },
    ];
  } catch {
    // the last line of an output that was cut
    return [];
  }
}

function byGitGrep(top: string, target: string, op: Searching): { ran: Ran; hits: Hit[] } {
  const grep = (dialect: string) => {
    const within = target === '.' ? '' : `${target}/`;
    const pathspec = op.glob
      ? `:(glob)${within}${op.glob.includes('/') ? op.glob : `**/${op.glob}`}`
      : `:(literal)${target}`;
    const args = [
      'grep',
      '--no-index',
      '--exclude-standard',
      '-I',
      '-n',
      '-z',
      '--no-color',
      dialect,
      ...(op.symbol ? ['-w'] : []),
      '-e',
      op.pattern,
      '--',
      pathspec,
    ];
    return run('git', args, { cwd: top, env: env(), ...bounds });
  };
  let ran = grep(op.regex && !op.symbol ? '-P' : '-F');
  if (op.regex && ran.code === 128 && ran.stderr.includes('PCRE')) ran = grep('-E');
  return { ran, hits: [...grepHits(ran.stdout)] };
}

/** format: `path NUL number NUL text newline`; a path may contain newlines */
function* grepHits(output: string): Generator<Hit> {
  for (let at = 0; at < output.length; ) {
    const pathEnd = output.indexOf('\0', at);
    const lineEnd = output.indexOf('\0', pathEnd + 1);
    const textEnd = output.indexOf('\n', lineEnd + 1);
    // the last hit of an output that was cut
    if (pathEnd < 0 || lineEnd < 0 || textEnd < 0) return;
    const [path, line, text] = [
      output.slice(at, pathEnd),
      output.slice(pathEnd + 1, lineEnd),
      output.slice(lineEnd + 1, textEnd),
    ];
    yield { path: utf8(path).replace(/^\.\//, ''), line: Number(line), text: utf8(text).replace(/\r$/, '') };
    at = textEnd + 1;
  }
}
