export interface DiffLine {
  kind: 'added' | 'removed' | 'hunk' | 'file' | 'same';
  text: string;
  /** where the words begin and end that differ from the line that this one replaces, or that replaces it */
  changed?: readonly [from: number, to: number];
}

/** The lines of a unified diff. Where as many lines were removed as added, each is compared with its other half. */
export function diffLines(diff: string): DiffLine[] {
  const all = linesOf(diff);
  // git's note that a file ends without a line end stands between the two halves
  const lines = all.filter(({ text }) => !text.startsWith('\\ '));
  for (let at = 0; at < lines.length; ) {
    const removed = runFrom(lines, at, 'removed');
    const added = runFrom(lines, at + removed, 'added');
    for (let nth = 0; removed === added && nth < removed; nth++) {
      const [before, after] = [lines[at + nth]!, lines[at + removed + nth]!];
      Object.assign(before, markOf(before.text, after.text));
      Object.assign(after, markOf(after.text, before.text));
    }
    at += Math.max(1, removed + added);
  }
  return all;
}

function runFrom(lines: readonly DiffLine[], from: number, kind: DiffLine['kind']): number {
  const end = lines.findIndex((line, at) => at >= from && line.kind !== kind);
  return (end < 0 ? lines.length : end) - from;
}

/** Lines that have little in common are not marked: everything in them changed. */
function markOf(text: string, other: string): Pick<DiffLine, 'changed'> {
  const [words, others] = [wordsOf(text), wordsOf(other)];
  const most = Math.min(words.length, others.length);
  let begin = 0;
  while (begin < most && words[begin] === others[begin]) begin++;
  let end = 0;
  while (end < most - begin && words.at(-1 - end) === others.at(-1 - end)) end++;
  const from = 1 + words.slice(0, begin).join('').length;
  const to = text.length - words.slice(words.length - end).join('').length;
  const shared = text.length - (to - from);
  return from < to && shared > text.length * 0.3 ? { changed: [from, to] } : {};
}

/** The words of a line without its sign, with what stands between them. */
const wordsOf = (line: string): string[] => line.slice(1).match(/\w+|\s+|[^\w\s]/g) ?? [];

function linesOf(diff: string): DiffLine[] {
  const lines = diff.replace(/\n$/, '').split('\n');
  let inHunk = false;
  return lines.map((text) => {
    if (
      /^(diff |index |new file|deleted file|similarity|rename |old mode|new mode|Binary )/.test(text) ||
      (!inHunk && /^(---|\+\+\+) /.test(text))
    ) {
      if (text.startsWith('diff ')) inHunk = false;
      return { kind: 'file', text };
    }
    if (text.startsWith('@@')) {
      inHunk = true;
      return { kind: 'hunk', text };
    }
    if (text.startsWith('+')) return { kind: 'added', text };
    return { kind: text.startsWith('-') ? 'removed' : 'same', text };
  });
}

/** Whether a text reads best as a difference: it has a hunk, or most of its lines are signed. */
export function looksLikeDiff(text: string): boolean {
  if (/^@@ -\d/m.test(text) || /^diff --git /m.test(text)) return true;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const signed = lines.filter((line) => /^[+-](?!\s*$)/.test(line) && !/^- /.test(line)).length;
  return signed >= 2 && signed >= lines.length * 0.5;
}
