import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { FileChanged, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { environment } from '../git/git.ts';
import { run } from '../git/process.ts';
import { bounded, LIMITS } from '../limits.ts';
import { Refusal } from '../refusal.ts';
import { replaceFile } from './apply.ts';
import { isGitName, nearest, shown } from './names.ts';
import { existing, linkInside, writable } from './paths.ts';
import { readEncoded, readText, sized, type Text, utf8Bytes } from './text.ts';

/** Keeps for undo what is about to be done to a file, before it is done. Returns why it could not be kept. */
export type Keep = (absolute: string, after: Buffer | null) => string | null;

const KEEP_NOTHING: Keep = () => null;

/** Creates or replaces a text file. */
export function write(
  root: string,
  path: string,
  text: string,
  preview: boolean,
  keep: Keep = KEEP_NOTHING,
): WorkspaceAnswer {
  const target = writable(root, path);
  if (target.stats?.isDirectory()) throw new Refusal(`${shown(path)} is a folder.`);
  if (target.stats && !target.stats.isFile()) throw new Refusal(`${shown(path)} is not a regular file.`);
  const before = target.stats ? readEncoded(target.absolute, path, LIMITS.editBytes) : null;
  return put(target.absolute, target.path, before, text, target.stats?.mode ?? null, preview, keep);
}

/** Replaces text that occurs once; with `all`, every occurrence. */
export function edit(
  root: string,
  path: string,
  find: string,
  replace: string,
  all: boolean,
  preview: boolean,
  keep: Keep = KEEP_NOTHING,
): WorkspaceAnswer {
  if (find === '') throw new Refusal('The text to find is empty.');
  const target = existing(root, path);
  if (target.stats.isDirectory()) throw new Refusal(`${shown(path)} is a folder.`);
  const file = readEncoded(target.absolute, path, LIMITS.editBytes);
  const before = file.text;
  let [wanted, put_] = [find, replace];
  let count = occurrences(before, wanted);
  if (count === 0 && before.includes('\r\n') && !find.includes('\r')) {
    // the model sees lines without carriage returns
    [wanted, put_] = [find.replaceAll('\n', '\r\n'), replace.replaceAll('\n', '\r\n')];
    count = occurrences(before, wanted);
  }
  if (count === 0) throw new Refusal(notFound(before, path, find));
  if (count > 1 && !all) {
    throw new Refusal(
      `The text occurs ${count} times in ${shown(path)} (lines ${linesOf(before, wanted).join(', ')}). Give more of what is around it, or replace all.`,
    );
  }
  return put(target.absolute, target.path, file, before.split(wanted).join(put_), target.stats.mode, preview, keep);
}

const occurrences = (text: string, find: string): number => text.split(find).length - 1;

function linesOf(text: string, find: string): string[] {
  const lines: string[] = [];
  for (let at = text.indexOf(find); at >= 0; at = text.indexOf(find, at + find.length)) {
    if (lines.length === 10) return [...lines, '…'];
    lines.push(String(text.slice(0, at).split('\n').length));
  }
  return lines;
}

function notFound(text: string, path: string, find: string): string {
  const lines = text.split('\n').slice(0, 20_000);
  const first =
    find
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim() ?? '';
  const loose = lines.findIndex((line) => first !== '' && line.trim() === first);
  const near =
    loose < 0 && first.length <= 200
      ? nearest(
          first,
          lines.map((line) => line.trim()).filter((line) => line.length <= 300),
        )
      : null;
  const at = loose >= 0 ? loose : near === null ? -1 : lines.findIndex((line) => line.trim() === near);
  const hint = at < 0 ? '' : ` Line ${at + 1} is like it: ${shown(lines[at]!.trim().slice(0, 200))}`;
  return `The text does not occur in ${shown(path)}; it has to match exactly, with its white space.${hint}`;
}

/**
 * Compares two texts; null means no file. Returns the unified diff with `a/` and `b/` before the path, and its line
 * counts.
 */
function unifiedDiff(
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

function put(
  absolute: string,
  path: string,
  file: Text | null,
  after: string,
  mode: number | null,
  preview: boolean,
  keep: Keep,
): WorkspaceAnswer {
  const before = file?.text ?? null;
  const bytes = (file?.encode ?? utf8Bytes)(after);
  if (bytes.length > LIMITS.editBytes)
    throw new Refusal(`The content is too large (at most ${sized(LIMITS.editBytes)}).`);
  if (before === after)
    return {
      ok: true,
      output: `${shown(path)} has this content already.`,
      ours: true,
      data: { path, added: 0, removed: 0, diff: '' },
    };
  const change = unifiedDiff(path, before, after);
  const data: FileChanged = { path, ...change };
  if (preview) return { ok: true, output: change.diff, data: { ...data } };
  const unkept = keep(absolute, bytes);
  try {
    if (mode === null) {
      mkdirSync(dirname(absolute), { recursive: true });
      writeFileSync(absolute, bytes, { flag: 'wx' });
    } else replaceFile(absolute, bytes, mode & 0o777);
  } catch (error) {
    throw refused(error, path);
  }
  const what = before === null ? 'Made' : 'Changed';
  return {
    ok: true,
    output: `${what} ${shown(path)} (+${change.added} −${change.removed}).${unkept ? ` ${unkept}` : ''}`,
    ...(unkept === null && { ours: true as const }),
    data: { ...data },
  };
}

function refused(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new Refusal(`${shown(path)} may not be written by the user that the kennel runs as.`);
  if (code === 'ENOSPC' || code === 'EDQUOT') return new Refusal(`The disk is full; ${shown(path)} is as it was.`);
  if (code === 'ENAMETOOLONG') return new Refusal('The path is too long.');
  return error;
}

/** Removes a file or link, or a folder with everything in it. A link is removed, its target stays. */
export function remove(
  root: string,
  path: string,
  kind: 'file' | 'folder',
  preview: boolean,
  keep: Keep = KEEP_NOTHING,
): WorkspaceAnswer {
  const target = linkInside(root, path);
  const isFolder = target.stats.isDirectory();
  if (kind === 'file' && isFolder) throw new Refusal(`${shown(path)} is a folder; delete it as a folder.`);
  if (kind === 'folder' && !isFolder) throw new Refusal(`${shown(path)} is not a folder; delete it as a file.`);
  const summary = isFolder
    ? folderSummary(target.absolute, target.path)
    : fileSummary(target.absolute, target.path, target.stats.isFile());
  const data: FileChanged = { path: target.path, added: 0, removed: summary.removed, diff: summary.text };
  if (preview) return { ok: true, output: summary.text, data: { ...data } };
  const unkept = isFolder ? null : keep(target.absolute, null);
  try {
    if (isFolder) rmSync(target.absolute, { recursive: true });
    else unlinkSync(target.absolute);
  } catch (error) {
    throw refused(error, path);
  }
  return {
    ok: true,
    output: `Deleted ${isFolder ? 'folder' : 'file'} ${shown(target.path)}${isFolder ? ` (${summary.files} files)` : ''}.${unkept ? ` ${unkept}` : ''}`,
    data: { ...data, ...(unkept && { unkept }) },
  };
}

function fileSummary(
  absolute: string,
  path: string,
  regular: boolean,
): { text: string; removed: number; files: number } {
  if (!regular) return { text: `Deletes the link or special file ${shown(path)}.`, removed: 0, files: 1 };
  try {
    const { diff, removed } = unifiedDiff(path, readText(absolute, path, LIMITS.editBytes), null);
    return { text: diff || `Deletes the empty file ${shown(path)}.`, removed, files: 1 };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { text: `Deletes ${shown(path)} (${sized(lstatSync(absolute).size)}).`, removed: 0, files: 1 };
  }
}

function folderSummary(absolute: string, path: string): { text: string; removed: number; files: number } {
  const names: string[] = [];
  let files = 0;
  let bytes = 0;
  let seen = 0;
  const visit = (folder: string, prefix: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (isGitName(entry.name))
        throw new Refusal(`${shown(prefix)} holds a git repository of its own; it is not deleted here.`);
      seen += 1;
      if (seen > LIMITS.walkEntries) return;
      const name = `${prefix}/${entry.name}`;
      if (entry.isDirectory()) visit(join(folder, entry.name), name);
      else {
        files += 1;
        const at = join(folder, entry.name);
        if (existsSync(at)) bytes += lstatSync(at).size;
        if (names.length < 100) names.push(shown(name));
      }
    }
  };
  visit(absolute, path);
  const more = seen > LIMITS.walkEntries ? ' or more' : '';
  const list =
    names.length > 0
      ? `\n${names.join('\n')}${files > names.length ? `\n… and ${files - names.length} more` : ''}`
      : '';
  return {
    text: bounded(`Deletes folder ${shown(path)} with ${files}${more} files (${sized(bytes)}${more}):${list}`),
    removed: 0,
    files,
  };
}
