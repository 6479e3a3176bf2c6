import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from './bench.ts';
import { type Row, round } from './figures.ts';
import { diskOf, total, type Usage, usageByRole } from './processes.ts';
import { steps } from './turns.ts';

const CHATS = 20;
const MINUTE_MS = 60_000;

/**
 * Memory of every role and disk of the instance: a minute after its start, at the end of turns in twenty chats, and a
 * minute later. A turn has two model calls, so the medium size has 840.
 */
export const footprint: Part = {
  name: 'footprint',
  title: 'Memory and disk (2 model calls and 1 tool call a turn)',
  async run({ app, taker, pick }) {
    const turns = pick(40, 420, 1000);
    const threads = await Promise.all(Array.from({ length: CHATS }, () => app.thread()));
    await sleep(MINUTE_MS);
    const idle = usageByRole(app);
    const disk = diskOf(app.home);
    await Promise.all(
      threads.map(async (thread) => {
        for (let at = 0; at < turns / CHATS; at++) await taker.take(thread, steps(1));
      }),
    );
    const after = usageByRole(app);
    await sleep(MINUTE_MS);
    const later = usageByRole(app);
    const rows: Row[] = Object.keys(after).map((role) => row(role, idle[role], after[role], later[role], turns));
    rows.push(row('all', sum(idle), sum(after), sum(later), turns));
    const grown = diskOf(app.home);
    for (const place of Object.keys(disk) as Array<keyof typeof disk>)
      rows.push({
        role: `disk: ${place}`,
        'idle MB': round(disk[place], 1),
        'after MB': round(grown[place], 1),
        'MB per 1000 turns': round(((grown[place] - disk[place]) * 1000) / turns, 1),
      });
    return rows;
  },
};

const row = (
  role: string,
  idle: Usage | undefined,
  after: Usage | undefined,
  later: Usage | undefined,
  turns: number,
): Row => ({
  role,
  'idle MB': round(idle?.memoryMb ?? 0, 0),
  'after MB': round(after?.memoryMb ?? 0, 0),
  'a minute later MB': round(later?.memoryMb ?? 0, 0),
  'of it files MB': round(later?.filesMb ?? 0, 0),
  'CPU ms per turn': round(((after?.cpuMs ?? 0) - (idle?.cpuMs ?? 0)) / turns, 1),
});

const sum = (usage: Record<string, Usage>): Usage => ({
  memoryMb: total(usage, 'memoryMb'),
  filesMb: total(usage, 'filesMb'),
  cpuMs: total(usage, 'cpuMs'),
});
