import type { Client } from '@temporalio/client';
import { startReminder } from '../../adapters/reminders.ts';
import type { Config } from '../../config.ts';
import { chatsWithSends, openRuns, openTurns } from '../../store/chats/reconcile.ts';
import { settledTasks } from '../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../store/postgres/database.ts';
import { settledCrons } from '../../store/routines/crons.ts';
import { waitingReminders } from '../../store/routines/reminders.ts';
import { Holdings } from './holdings.ts';
import { compareRun, scheduleComparison } from './routines.ts';
import { compareSends } from './sends.ts';
import { startStuckOver } from './start-over.ts';
import { compareTask } from './tasks.ts';
import { compareTurn } from './turns.ts';
import { Walk, type Walked } from './walk.ts';

/** Anything younger may still be on its way. */
const SETTLED_MS = 30_000;
/** Rounds after a start in which every run is checked for older code: after a rollback, old workers meet runs of the newer release in the first minutes. */
const ROUNDS_AFTER_START = 10;

export type Reconciled = Record<'turns' | 'tasks' | 'runs' | 'schedules' | 'reminders' | 'sends' | 'stuck', Walked>;

/**
 * Compares the database with the Temporal server and restores what the server lost: turns, answers, orders, tasks, runs of routines, schedules, reminders and queued
 * messages. The cause may be a terminated workflow, a server that lost its last moments, a restored backup, or deleted data. What the database itself lost is
 * ended, and the person is told. Each call is one round through all of it.
 */
export function createReconcile(deps: { db: Db; temporal: Client; config: Config }): (settledMs?: number) => Promise<Reconciled> {
  const { db, temporal } = deps;
  const holdings = new Holdings(temporal);
  const updated = new Set<string>();
  let ageMs = SETTLED_MS;
  let rounds = 0;
  const turns = new Walk(
    (after, limit) => openTurns(db, ageMs, after, limit),
    (turn) => turn.threadId,
  );
  const tasks = new Walk(
    (after, limit) => settledTasks(db, ageMs, after, limit),
    (task) => task.id,
  );
  const runs = new Walk(
    (after, limit) => openRuns(db, ageMs, after, limit),
    (run) => run.id,
  );
  const crons = new Walk(
    (after, limit) => settledCrons(db, ageMs, after, limit),
    (cron) => cron.id,
  );
  const reminders = new Walk(
    (after, limit) => waitingReminders(db, ageMs, after, limit),
    (reminder) => reminder.id,
  );
  const sends = new Walk(
    (after, limit) => chatsWithSends(db, ageMs, after, limit),
    (chat) => chat.chatId,
  );
  return async (settledMs = SETTLED_MS) => {
    ageMs = settledMs;
    return {
      // first, because the rounds below restart what this one ends
      stuck: await startStuckOver(temporal, rounds++ < ROUNDS_AFTER_START),
      turns: await turns.round((turn) => compareTurn(db, holdings, turn)),
      tasks: await tasks.round((task) => compareTask(deps, holdings, task)),
      runs: await runs.round((run) => compareRun(temporal, holdings, run)),
      schedules: await crons.round(scheduleComparison(deps, updated)),
      reminders: await reminders.round((reminder) => startReminder(temporal, reminder)),
      // last, because the rounds above leave messages to send
      sends: await sends.round((chat) => compareSends(deps, holdings, chat)),
    };
  };
}
