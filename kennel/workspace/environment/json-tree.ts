import type { Node } from 'jsonc-parser';

/** Looks into a parsed JSON file whose places are known, so that a person can be shown the line. */

/** Key, value and offset of the key. */
export const properties = (node: Node): Array<[string, Node, number]> =>
  (node.children ?? []).flatMap(({ children: [key, value] = [], offset }) =>
    key && value ? [[String(key.value), value, offset] as [string, Node, number]] : [],
  );

export const texts = (node: Node): Array<[string, string | null, number | null]> =>
  node.type === 'object'
    ? properties(node).map(([name, value, at]) => [
        name,
        ['string', 'number', 'boolean'].includes(value.type) ? String(value.value).slice(0, 4_000) : null,
        at,
      ])
    : [['', null, null]];

export function* all(node: Node): Generator<Node> {
  yield node;
  for (const child of node.children ?? []) yield* all(child);
}

/** `false`, `[]`, `{}`, `""` and null ask for nothing. */
export const isEmpty = (node: Node): boolean =>
  node.type === 'null' ||
  node.value === false ||
  node.value === '' ||
  ((node.type === 'array' || node.type === 'object') && (node.children ?? []).length === 0);

/** Shell lines of a lifecycle command: a text, a list of words, or an object of either. */
export function commands(value: unknown): string[] {
  if (typeof value === 'string') return value.trim() ? [value.slice(0, 4_000)] : [];
  if (Array.isArray(value))
    return value.length > 0
      ? [
          value
            .slice(0, 200)
            .map((word) => `'${String(word).replaceAll("'", `'\\''`)}'`)
            .join(' '),
        ]
      : [];
  if (typeof value === 'object' && value !== null)
    return Object.values(value)
      .slice(0, 20)
      .flatMap((each) => (typeof each === 'object' && !Array.isArray(each) ? [] : commands(each)));
  return [];
}
