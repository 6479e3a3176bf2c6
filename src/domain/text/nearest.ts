/** Up to three of `names` that look like `wanted`, nearest first: what a misspelt name probably meant. */
export function nearest(wanted: string, names: Iterable<string>): string[] {
  const target = wanted.toLowerCase();
  const limit = Math.max(2, Math.ceil(target.length / 2));
  return [...names]
    .map((name) => ({
      name,
      score:
        name.toLowerCase().includes(target) || target.includes(name.toLowerCase())
          ? 1
          : distance(target, name.toLowerCase()),
    }))
    .filter(({ score }) => score <= limit)
    .sort((a, b) => a.score - b.score || a.name.localeCompare(b.name))
    .slice(0, 3)
    .map(({ name }) => name);
}

/** ` Did you mean a or b?`, or all names when there are few, or nothing. */
export function suggestion(wanted: string, names: Iterable<string>): string {
  const all = [...names];
  const near = nearest(wanted, all);
  if (near.length > 0) return ` Did you mean ${near.join(' or ')}?`;
  return all.length > 0 && all.length <= 20 ? ` There is: ${all.join(', ')}.` : '';
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
