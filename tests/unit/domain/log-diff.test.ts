import { describe, expect, it } from 'vitest';
import { hunk } from '../../../kennel/runner/agent/tool-calls.ts';
import { reportedDiffs } from '../../../src/domain/tasks/log-diff.ts';

const ALL = 1_000_000;

describe('differences in the log of an agent', () => {
  it('are found by file among commands and output, in the order of the edits', () => {
    const first = hunk('a.ts', 'one\ntwo', 'one\n2');
    const second = hunk('b.ts', null, 'new');
    const third = hunk('a.ts', 'one\n2', '1\n2');
    const found = reportedDiffs([`$ edit a\n${first}\nok`, second, third], ALL);
    expect(found).toEqual([
      { path: 'a.ts', diff: `${first}\n${third}`, cut: false },
      { path: 'b.ts', diff: second, cut: false },
    ]);
  });

  it('do not end where a line of the file looks like the head of another file', () => {
    const text = hunk('patch.txt', '--- x\n+++ y\n@@ -1,1 +1,1 @@\nold', '--- x\n+++ y\n@@ -1,1 +1,1 @@\nnew');
    expect(reportedDiffs([text], ALL)).toEqual([{ path: 'patch.txt', diff: text, cut: false }]);
  });

  it('say that they are not whole when the log or the limit has cut them', () => {
    const text = hunk('a.ts', null, 'line\n'.repeat(100));
    expect(reportedDiffs([text.slice(0, 200)], ALL)).toMatchObject([{ path: 'a.ts', cut: true }]);
    expect(reportedDiffs([text, hunk('b.ts', null, 'x')], 100)).toMatchObject([
      { path: 'a.ts', diff: '', cut: true },
      { path: 'b.ts', cut: false },
    ]);
  });
});
