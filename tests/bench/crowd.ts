import { type ChildProcess, spawn } from 'node:child_process';
import proto from '@temporalio/proto';
import type { Bench, Part } from './bench.ts';
import { figures, type Row, round } from './figures.ts';
import { total, usageByRole } from './processes.ts';
import { steps } from './turns.ts';

type TimeoutType = proto.temporal.api.enums.v1.TimeoutType;
/** A worker that is alive did not ask in time. The other kind is one that did not finish in time what it had taken. */
const NOT_TAKEN = proto.temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START;

/**
 * Fifty chats that write at once: the first turn of each, and later ones. Quiet, and beside processes that never wait:
 * a worker that is only busy must keep its chats.
 */
export const crowd: Part = {
  name: 'crowd',
  title: 'A crowd of new chats (1 tool call a turn)',
  async run(bench) {
    const rows: Row[] = [];
    for (const load of bench.pick([0], [0, 40], [0, 40])) rows.push(await crowdBeside(bench, load));
    return rows;
  },
};

async function crowdBeside(bench: Bench, load: number): Promise<Row> {
  const { app, taker } = bench;
  const burners: ChildProcess[] = Array.from({ length: load }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  try {
    const threads = await Promise.all(Array.from({ length: bench.pick(20, 50, 50) }, () => app.thread()));
    const first: number[] = [];
    const later: number[] = [];
    const begun = performance.now();
    await Promise.all(
      threads.map(async (thread) => {
        for (let at = 0; at < 4; at++)
          (at === 0 ? first : later).push((await taker.take(thread, steps(1), 600_000)).seen);
      }),
    );
    const perSecond = ((first.length + later.length) * 1000) / (performance.now() - begun);
    const waits = await Promise.all(threads.map((thread) => waitsOf(bench, thread)));
    const workflowTasks = waits.flatMap((each) => each.tasks);
    return {
      'busy processes': load,
      chats: threads.length,
      'turns/s': round(perSecond, 1),
      'first median ms': figures(first).median,
      'first p95 ms': figures(first).p95,
      'later median ms': figures(later).median,
      'later p95 ms': figures(later).p95,
      'workflow task waits p95 ms': figures(workflowTasks).p95,
      'timed out in a sticky queue': waits.flatMap(({ timedOut }) => timedOut).filter((each) => each === NOT_TAKEN)
        .length,
      'timed out at work': waits.flatMap(({ timedOut }) => timedOut).filter((each) => each !== NOT_TAKEN).length,
      'memory MB': round(total(usageByRole(app), 'memoryMb'), 0),
    };
  } finally {
    for (const burner of burners) burner.kill('SIGKILL');
  }
}

/** How long the workflow tasks of a chat waited for a worker, and how those ended that were taken from one. */
async function waitsOf(bench: Bench, thread: string): Promise<{ tasks: number[]; timedOut: TimeoutType[] }> {
  const history = await bench.temporal.workflow.getHandle(await bench.workflowOf(thread)).fetchHistory();
  const scheduled = new Map<string, number>();
  const tasks: number[] = [];
  const timedOut: TimeoutType[] = [];
  for (const { eventId, eventTime, ...event } of history.events ?? []) {
    const at = Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6;
    if (event.workflowTaskScheduledEventAttributes) scheduled.set(String(eventId), at);
    const started = event.workflowTaskStartedEventAttributes;
    if (started) tasks.push(at - (scheduled.get(String(started.scheduledEventId)) ?? at));
    const late = event.workflowTaskTimedOutEventAttributes;
    if (late) timedOut.push(late.timeoutType ?? NOT_TAKEN);
  }
  return { tasks, timedOut };
}
