/** A fence that the code cannot close: longer than every run of backticks in it, and at least three. */
export function fenceFor(code: string): string {
  const longest = (code.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
  return '`'.repeat(Math.max(3, longest + 1));
}

/** Lines between the name of a file and its first hunk, as git writes them. */
const HEADER =
  /^(?:diff --git |index [\da-f]+\.\.|(?:new|deleted) file mode |(?:old|new) mode |(?:dis)?similarity index |(?:rename|copy) (?:from|to) |Binary files |--- |\+\+\+ )/;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Puts a fence around each unified diff that has none. Models write diffs into their answers as they come, and markdown
 * would make lists and emphasis of their lines.
 */
export function fenceDiffs(markdown: string): string {
  if (!markdown.includes('diff --git ') && !markdown.includes('@@ -') && !markdown.includes('\n+++ ')) return markdown;
  const lines = markdown.split('\n');
  const out: string[] = [];
  let open: string | null = null;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!;
    const fence = FENCE.exec(line)?.[1];
    if (fence !== undefined && (open === null || closes(line, fence, open))) open = open === null ? fence : null;
    const end = open === null && fence === undefined ? endOfDiff(lines, at) : at;
    if (end > at) {
      const diff = lines.slice(at, end);
      const around = fenceFor(diff.join('\n'));
      out.push(around, ...diff, around);
      at = end;
    } else {
      out.push(line);
      at += 1;
    }
  }
  return out.join('\n');
}

const closes = (line: string, fence: string, open: string): boolean =>
  fence[0] === open[0] && fence.length >= open.length && line.trim() === fence;

const begins = (lines: readonly string[], at: number): boolean =>
  lines[at]!.startsWith('diff --git ') ||
  HUNK.test(lines[at]!) ||
  (lines[at]!.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ') === true);

/** The line after the diff that begins at this one; the line itself when none does. */
function endOfDiff(lines: readonly string[], from: number): number {
  if (!begins(lines, from)) return from;
  let at = from;
  while (at < lines.length) {
    const hunk = HUNK.exec(lines[at]!);
    if (hunk) at = endOfHunk(lines, at + 1, Number(hunk[1] ?? 1), Number(hunk[2] ?? 1));
    else if (HEADER.test(lines[at]!)) at += 1;
    // the next file of the same diff may stand apart
    else if (lines[at] === '' && at + 1 < lines.length && begins(lines, at + 1)) at += 1;
    // hunks without their line numbers, and lines that a wrong number has not counted
    else if (/^[-+ \\]/.test(lines[at]!)) at += 1;
    else break;
  }
  return at;
}

/**
 * An editor may have taken the space of an empty line away, so the numbers of the hunk say whether an empty line
 * belongs to it.
 */
function endOfHunk(lines: readonly string[], from: number, before: number, after: number): number {
  let at = from;
  for (let [old, fresh] = [before, after]; at < lines.length && (old > 0 || fresh > 0); at += 1) {
    const line = lines[at]!;
    if (line !== '' && !/^[-+ \\]/.test(line)) break;
    if (line === '' || line[0] === ' ' || line[0] === '-') old -= 1;
    if (line === '' || line[0] === ' ' || line[0] === '+') fresh -= 1;
  }
  while (at > from && lines[at - 1] === '' && at === lines.length) at -= 1;
  return at;
}
