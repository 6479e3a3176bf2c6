/**
 * The differences that an agent reports with its edits, put together by file. They say what it did step by step, and
 * not what git finds at the end.
 */

interface ReportedDiff {
  path: string;
  /** hunks in the order of the edits, as the runner wrote them */
  diff: string;
  /** the log has not all of it */
  cut: boolean;
}

const OLD = /^--- (?!$)/;
const NEW = /^\+\+\+ (.+)$/;
const HUNK = /^@@ -\d+,(\d+) \+\d+,(\d+) @@$/;

/**
 * `details`: those of ended edits, in order. At most `limit` characters in all; what is beyond is left out, and its
 * file says so.
 */
export function reportedDiffs(details: readonly string[], limit: number): ReportedDiff[] {
  const files = new Map<string, ReportedDiff>();
  let left = limit;
  for (const detail of details) {
    for (const { path, text, whole } of hunksIn(detail)) {
      const file = files.get(path) ?? { path, diff: '', cut: false };
      files.set(path, file);
      if (!whole || text.length > left) file.cut = true;
      if (text.length > left) continue;
      left -= text.length;
      file.diff += `${file.diff ? '\n' : ''}${text}`;
    }
  }
  return [...files.values()];
}

/** Reads as many lines as the head of a hunk announces, so that a line of a file cannot pose as the head of another. */
function* hunksIn(detail: string): Generator<{ path: string; text: string; whole: boolean }> {
  const lines = detail.split('\n');
  for (let at = 0; at + 2 < lines.length; at += 1) {
    const path = OLD.test(lines[at]!) ? NEW.exec(lines[at + 1]!)?.[1] : undefined;
    const [, before, after] = HUNK.exec(lines[at + 2] ?? '') ?? [];
    if (path === undefined || before === undefined) continue;
    let [old, now] = [Number(before), Number(after)];
    let end = at + 3;
    for (; end < lines.length && (old > 0 || now > 0); end += 1) {
      const mark = lines[end]![0];
      if (mark !== ' ' && mark !== '-' && mark !== '+') break;
      if (mark !== '+') old -= 1;
      if (mark !== '-') now -= 1;
    }
    yield { path, text: lines.slice(at, end).join('\n'), whole: old <= 0 && now <= 0 };
    at = end - 1;
  }
}
