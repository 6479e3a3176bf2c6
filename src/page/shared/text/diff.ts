interface DiffLine {
  kind: 'added' | 'removed' | 'hunk' | 'file' | 'same';
  text: string;
}

/** The lines of a unified diff. */
export function diffLines(diff: string): DiffLine[] {
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
