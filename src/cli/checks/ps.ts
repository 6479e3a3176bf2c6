import { styleText } from 'node:util';
import type { Config } from '../../config.ts';
import { moneyText } from '../../domain/model/price-book.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { ago } from '../../domain/time.ts';
import { chatsOfIds, nameWithoutNumber } from '../../store/owner/views/chats.ts';
import { type FailedRow, markSeen, unseenFailures } from '../../store/owner/views/now.ts';
import {
  type ChatRun,
  chatRuns,
  placesOfFailures,
  type RoutineRunFacts,
  routineRuns,
  type TaskRun,
  taskRuns,
} from '../../store/owner/views/runs.ts';
import type { Db } from '../../store/postgres/database.ts';
import { withStore } from '../instance/servers/with-store.ts';

/** One line of `fetch ps`. */
interface Run {
  kind: 'chat' | 'task' | 'routine' | 'message';
  /** id of the workflow, as the Temporal Web UI lists it */
  workflow: string;
  /** of the chat, the task's agent and project, or the routine; never a number of a phone */
  name: string;
  channel: string;
  state: 'waiting' | 'failed' | 'working' | 'idle';
  waitingFor: string | null;
  spentUsd: number;
  /** when this state began; RFC 3339 */
  since: string;
  /** of a failure that nobody has seen */
  why: string | null;
}

const ORDER: Array<Run['state']> = ['waiting', 'failed', 'working', 'idle'];
const MOST_FAILURES = 200;
const MICRO = 1e6;

/** `fetch ps`: what waits, failed, works and sleeps. A failure is listed until it is marked as seen. */
export const run = (config: Config, options: { json?: boolean; seen?: boolean; lines: number }): Promise<void> =>
  withStore(config, 'fetch-ps', async ({ db }) => {
    const failures = await unseenFailures(db, MOST_FAILURES);
    const all = await listRuns(db, failures, options.lines);
    const runs = all.slice(0, options.lines);
    if (options.seen)
      await markSeen(
        db,
        failures.map(({ id }) => id),
      );
    const write = (line: string) => void process.stdout.write(`${line}\n`);
    if (options.json) return write(JSON.stringify(runs, null, 2));
    if (runs.length === 0) return write('Nothing has run yet.');
    for (const line of table(runs, Date.now())) write(line);
    if (all.length > runs.length) write(`${all.length - runs.length} more: fetch ps -n ${all.length}`);
    if (failures.length > 0)
      write(options.seen ? 'The failures are marked as seen.' : 'Failures stay here until: fetch ps --seen');
  });

/** What waits for a person comes first. */
async function listRuns(db: Db, failures: readonly FailedRow[], limit: number): Promise<Run[]> {
  const [chats, tasks, routines, places] = await Promise.all([
    chatRuns(db, limit),
    taskRuns(db),
    routineRuns(db),
    placesOfFailures(
      db,
      failures.map(({ id }) => id),
    ),
  ]);
  const open = [...chats, ...tasks, ...routines];
  const named = await chatsOfIds(db, [
    ...open.map(({ chat_id }) => chat_id),
    ...[...places.values()].map(({ chat_id }) => chat_id),
  ]);
  const chatOf = (id: string): { name: string; channel: string } => {
    const chat = named.get(id) ?? { channel: id.split('/')[0]!, name: 'a chat' };
    return { channel: chat.channel, name: nameWithoutNumber(chat) };
  };
  const failed = failures.flatMap(({ id, kind, at, why }): Run[] => {
    const place = places.get(id);
    if (!place) return [];
    const { name, channel } = chatOf(place.chat_id);
    return [
      {
        kind: kind === 'turn' ? 'chat' : kind,
        workflow: place.workflow_id,
        name: place.name === null ? name : inline(place.name, 80),
        channel,
        state: 'failed',
        waitingFor: null,
        spentUsd: place.micro_usd / MICRO,
        since: at.toISOString(),
        why: why && inline(why, 200),
      },
    ];
  });
  // a chat that does nothing now shows its latest failure in its own line
  const failedChats = new Set(failed.filter(({ kind }) => kind === 'chat').map(({ workflow }) => workflow));
  return [
    ...open
      .map((row) => toRun(row, chatOf(row.chat_id)))
      .filter(({ state, workflow }) => state !== 'idle' || !failedChats.has(workflow)),
    ...failed,
  ].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state) || (one.since < other.since ? 1 : -1));
}

const toRun = (row: ChatRun | TaskRun | RoutineRunFacts, chat: { name: string; channel: string }): Run => ({
  kind: row.kind,
  workflow: row.workflow_id,
  name:
    row.kind === 'chat'
      ? chat.name
      : inline(row.kind === 'task' ? `${row.harness} in ${row.workspace}` : row.routine_name, 80),
  channel: chat.channel,
  state: row.state,
  waitingFor: row.waits_for,
  spentUsd: Number(row.micro_usd) / MICRO,
  since: row.since.toISOString(),
  why: null,
});

/** A longer name would push the other columns off the screen. */
const NAME_CHARS = 40;

function* table(runs: readonly Run[], now: number): Generator<string> {
  const rows = runs.map(({ name, channel, state, waitingFor, spentUsd, since }) => [
    inline(name, NAME_CHARS),
    channel,
    state,
    waitingFor ?? '',
    moneyText({ tokens: 0, microUsd: spentUsd * MICRO }),
    ago(now - Date.parse(since)),
  ]);
  const head = ['NAME', 'CHANNEL', 'STATE', 'WAITING FOR', 'SPENT', 'SINCE'];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const padded = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column]!));
  yield padded(head).join('  ').trimEnd();
  for (const [index, row] of rows.entries()) {
    const cells = padded(row);
    const colour = COLOURS[runs[index]!.state];
    if (colour) cells[2] = styleText(colour, cells[2]!);
    yield cells.join('  ').trimEnd();
    const { why } = runs[index]!;
    if (why) yield `  ${why}`;
  }
}

const COLOURS = { waiting: 'yellow', failed: 'red', working: 'green', idle: null } as const;
