import type { Client } from '@temporalio/client';
import { startBaseline, startReminder } from '../../../adapters/workflows.ts';
import type { Config } from '../../../config.ts';
import { waitingChecks, wantedChecks } from '../../../store/kennel/questions/baseline-questions.ts';
import { settledShipments } from '../../../store/kennel/shipments/shipments.ts';
import { settledTasks } from '../../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { settledCrons } from '../../../store/routines/crons.ts';
import { chatsWithSends, openRuns, openTurns } from '../../../store/routines/reconcile.ts';
import { waitingReminders } from '../../../store/routines/reminders.ts';
import { Holdings } from './holdings.ts';
import { compareRun, scheduleComparison } from './routines.ts';
import { compareSends } from './sends.ts';
import { startStuckOver } from './start-over.ts';
import { compareCheck, compareShipment, compareTask } from './tasks.ts';
import { compareTurn } from './turns.ts';
import { Walk, type Walked } from './walk.ts';

/** Anything younger may still be on its way. */
const SETTLED_MS = 30_000;
/**
 * Rounds after a start in which every run is checked for older code: after a rollback, old workers meet runs of the
 * newer release in the first minutes.
 */
const ROUNDS_AFTER_START = 10;
/** What a server has lost was signalled lately, unless all of it is gone. */
const LATELY_MS = 600_000;
/**
 * Times its own length that a batch of chats that sleep is followed by a rest: a worker that has forgotten a chat
 * replays its history for a query.
 */
const RESTS = 4;

export type Reconciled = Record<
  'turns' | 'tasks' | 'shipments' | 'checks' | 'wanted' | 'runs' | 'schedules' | 'reminders' | 'sends' | 'stuck',
  Walked
>;

/** Each call is one round. */
export interface Reconcile {
  /** all but turns that sleep */
  (settledMs?: number): Promise<Reconciled>;
  /**
   * Turns that nothing was signalled for lately, and slowly: ten thousand are asked in half an hour, with a fifth of a
   * core.
   */
  asleep(stop?: AbortSignal): Promise<Walked>;
}

/**
 * Compares the database with the Temporal server and restores what the server lost: turns, answers, orders, tasks,
 * pull requests, checks of projects, runs of routines, schedules, reminders and queued messages. The cause may be a
 * terminated workflow, a server that lost its last moments, a restored backup, or deleted data. What the database itself
 * lost is ended, and the person is told.
 */
export function createReconcile(deps: { db: Db; temporal: Client; config: Config }): Reconcile {
  const { db, temporal } = deps;
  const holdings = new Holdings(temporal);
  const updated = new Set<string>();
  let ageMs = SETTLED_MS;
  let rounds = 0;
  const turns = new Walk(
    (after, limit) => openTurns(db, { which: 'lately', withinMs: LATELY_MS }, ageMs, after, limit),
    (turn) => turn.threadId,
  );
  const sleepers = new Walk(
    (after, limit) => openTurns(db, { which: 'earlier', withinMs: LATELY_MS }, ageMs, after, limit),
    (turn) => turn.threadId,
    RESTS,
  );
  const tasks = new Walk(
    (after, limit) => settledTasks(db, ageMs, after, limit),
    (task) => task.id,
  );
  const shipments = new Walk(
    (after, limit) => settledShipments(db, ageMs, after, limit),
    (shipment) => shipment.id,
  );
  const checks = new Walk(
    (after, limit) => waitingChecks(db, ageMs, after, limit),
    (check) => check.questionId,
  );
  const wanted = new Walk(
    (after, limit) => wantedChecks(db, ageMs, after, limit),
    (check) => check.round,
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
  const round = async (settledMs = SETTLED_MS): Promise<Reconciled> => {
    ageMs = settledMs;
    return {
      // first, because the rounds below restart what this one ends
      stuck: await startStuckOver(temporal, rounds++ < ROUNDS_AFTER_START),
      turns: await turns.round((turn) => compareTurn(db, holdings, turn)),
      tasks: await tasks.round((task) => compareTask(deps, holdings, task)),
      shipments: await shipments.round((shipment) => compareShipment(deps, holdings, shipment)),
      checks: await checks.round((check) => compareCheck(deps, holdings, check)),
      wanted: await wanted.round((check) =>
        startBaseline(temporal, deps.config, { ...check, asks: true }).then(() => true),
      ),
      runs: await runs.round((run) => compareRun(temporal, holdings, run)),
      schedules: await crons.round(scheduleComparison(deps, updated)),
      reminders: await reminders.round((reminder) => startReminder(temporal, reminder)),
      // last, because the rounds above leave messages to send
      sends: await sends.round((chat) => compareSends(deps, holdings, chat)),
    };
  };
  return Object.assign(round, {
    asleep: (stop?: AbortSignal) => sleepers.round((turn) => compareTurn(db, holdings, turn), stop),
  });
}
