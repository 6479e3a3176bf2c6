import type { ItemRecord } from '../../contracts/records.ts';

/** What follows each other in a turn: something that was said, or a row of steps that are folded together. */
type Group = { kind: 'said'; item: ItemRecord } | { kind: 'steps'; id: string; items: ItemRecord[] };

const STEPS: ReadonlySet<string> = new Set([
  'tool_call',
  'file_change',
  'command_execution',
  'agent_reasoning',
  'status',
]);

export function groupsOf(items: readonly ItemRecord[]): Group[] {
  const groups: Group[] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (!STEPS.has(item.kind)) groups.push({ kind: 'said', item });
    else if (last?.kind === 'steps') last.items.push(item);
    else groups.push({ kind: 'steps', id: item.id, items: [item] });
  }
  return groups;
}

/** The steps that are shown without being asked for: what runs, and the last ones. */
export function shownSteps(items: readonly ItemRecord[], most: number): { hidden: ItemRecord[]; shown: ItemRecord[] } {
  if (items.length <= most) return { hidden: [], shown: [...items] };
  return { hidden: items.slice(0, items.length - most), shown: items.slice(items.length - most) };
}
