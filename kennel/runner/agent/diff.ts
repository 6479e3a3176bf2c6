/**
 * An agent's change from old to new text, as one hunk of a unified diff. It need not be minimal, because only people
 * read it.
 */
export function hunk(path: string, before: string | null | undefined, after: string, max = 20_000): string {
  const old = before ? before.split('\n') : [];
  const now = after.split('\n');
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail += 1;
  const from = Math.max(0, head - 3);
  const shared = Math.min(3, tail);
  const lines = [
    `--- ${before === null || before === undefined ? '/dev/null' : path}`,
    `+++ ${path}`,
    `@@ -${old.length ? from + 1 : 0},${old.length - tail - from + shared} +${from + 1},${now.length - tail - from + shared} @@`,
    ...old.slice(from, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail, old.length - tail + shared).map((line) => ` ${line}`),
  ];
  const text = lines.join('\n');
  return text.length <= max ? text : `${text.slice(0, max)}\n… ${text.length - max} characters more`;
}
