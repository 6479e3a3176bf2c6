import type { EventDifference } from './differences.ts';
import type { Entry } from './skeleton.ts';

/**
 * The recorded entries with every listed difference put into them, and our entries less what is ours alone: what is
 * left must be equal. `used` collects the differences that changed something.
 */
export function adapt(
  name: string,
  recorded: readonly Entry[],
  ours: readonly Entry[],
  differences: readonly EventDifference[],
  used: Set<EventDifference>,
): { expected: Entry[]; found: Entry[] } {
  let expected = [...recorded];
  let found = [...ours];
  for (const difference of differences) {
    if (!difference.cases.test(name)) continue;
    const { omits, adds, theirs, instead = [] } = difference;
    if (omits) {
      const kept = expected.filter((entry) => !omits(entry, expected));
      if (kept.length < expected.length) used.add(difference);
      expected = kept;
    }
    if (theirs) {
      const at = expected.findIndex((_, start) =>
        theirs.every((label, offset) => expected[start + offset]?.label === label),
      );
      if (at >= 0) {
        used.add(difference);
        expected.splice(at, theirs.length, ...replaced(instead, expected.slice(at, at + theirs.length)));
      }
    }
    if (adds) {
      const kept = found.filter(({ label }) => !adds.test(label));
      if (kept.length < found.length) used.add(difference);
      found = kept;
    }
  }
  return { expected, found };
}

/** A label keeps what it was about in the recording; `@x` at its end names an item of its own. */
function replaced(labels: readonly string[], run: readonly Entry[]): Entry[] {
  const subject = (label: string) => label.split(' ')[1];
  return labels.map((text) => {
    const [label, own] = text.split(/ @/) as [string, string | undefined];
    const same =
      run.find((entry) => entry.label === label) ??
      run.find((entry) => entry.item !== null && subject(entry.label) === subject(label));
    const aboutItem = label.startsWith('item.');
    return {
      label,
      turn: run.find((entry) => entry.turn !== null)?.turn ?? null,
      item: own ? `own item ${own}` : aboutItem ? (same?.item ?? null) : null,
      call: callOf(label, own, run),
      envelope: null,
    };
  });
}

function callOf(label: string, own: string | undefined, run: readonly Entry[]): string | null {
  if (label.startsWith('item.started tool'))
    return own ? `own call ${own}` : (run.find((entry) => entry.label === label)?.call ?? null);
  return label.startsWith('approval.') ? (run.find((entry) => entry.call !== null)?.call ?? null) : null;
}
