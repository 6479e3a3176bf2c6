/** The diagrams of our pages as lists of arrows: no program that draws them is brought along. */

interface Arrow {
  from: string;
  to: string;
  /** what is written at it; empty for none */
  label: string;
}

/**
 * The arrows of a Mermaid flowchart as our pages have them: one in each line, and a node is named where it first
 * stands. Null for every other text.
 */
export function arrowsOf(text: string): Arrow[] | null {
  const [first = '', ...lines] = text.split('\n');
  if (!first.startsWith('flowchart ')) return null;
  const names = new Map<string, string>();
  const nameOf = (written: string): string => {
    const [id = ''] = /^\w*/.exec(written) ?? [];
    const name = written.slice(id.length).replace(/[[\](){}]/g, '');
    if (name !== '') names.set(id, name);
    return names.get(id) ?? id;
  };
  const arrows: Arrow[] = [];
  for (const line of lines) {
    const [left, right] = line.split('-->');
    if (left === undefined || right === undefined) continue;
    const [from = '', label = ''] = left.split(' -- ');
    arrows.push({ from: nameOf(from.trim()), to: nameOf(right.trim()), label: label.trim() });
  }
  return arrows;
}
