import type { Config } from '../../../config.ts';
import type { LogLine } from '../../../contracts/kennel.ts';
import type { ModelLimit } from '../../../contracts/task.ts';
import { limitInFailure } from '../../../domain/model/agent-limit.ts';
import { budgetsOf, type Mark, usedUp } from '../../../domain/model/spending.ts';
import { loginsOf } from '../../../domain/tasks/agents/agent-settings.ts';
import type { Task } from '../../../store/kennel/tasks/tasks.ts';
import { budgetsOfTask } from '../../../store/kennel/tasks/usage.ts';
import type { Db } from '../../../store/postgres/database.ts';
import {
  forgetLimit,
  type KnownLimit,
  type Limited,
  limitOf,
  noteLimit,
  refusalOf,
} from '../../../store/turns/limits.ts';

/** Limits of models: what a task waits for, and no reason to end it. */

interface Stores {
  db: Db;
  config: Config;
}

type AtLimit = { what: 'limit' } & ModelLimit;

/** A shorter wait is left to the agent, which tries again by itself. */
const HOLD_MS = 60_000;
/** Most agents give up by themselves within this time, and end in order. Another call of them may be answered, too. */
const SETTLE_MS = 20_000;
/**
 * An agent that fails this long after a limit opened, and was not answered since, has failed because of it. Agents try
 * again for some tens of seconds.
 */
const RECENT_MS = 120_000;
/** The day is the database's, whose clock may be late. */
const SKEW_MS = 30_000;

/** The limit that stands in the way of a working agent; null when there is none, or a short one. */
export async function modelLimit(db: Db, taskId: string): Promise<AtLimit | null> {
  const refused = await refusalOf(db, taskId);
  return refused && refused.opensInMs > HOLD_MS && refused.agoMs > SETTLE_MS ? limitAt(refused) : null;
}

/**
 * The limit that made an agent fail: the gate has met it, the budget of the day is used up, or the agent says so
 * itself.
 */
export async function endedAtLimit(
  { db, config }: Stores,
  task: Task,
  { reason }: Extract<LogLine, { type: 'ended' }>,
): Promise<AtLimit | null> {
  const refused = await refusalOf(db, task.id);
  if (refused && refused.opensInMs > -RECENT_MS) return limitAt(refused);
  const facts = await budgetsOfTask(db, task.id, config.FETCH_TIME_ZONE);
  const day = facts && dayLimit(usedUp(budgetsOf('task', facts, config)));
  if (day) return day;
  const said = limitInFailure(reason, Date.now());
  if (said?.kind !== 'wait') return null;
  const limit = { kind: said.overload ? ('overload' as const) : ('limit' as const), namedMs: said.waitMs };
  const login = loginLimit(config, task);
  // what a log-in meets is known by these words alone: other tasks with it need not ask
  return limitAt(
    login
      ? await noteLimit(db, login, limit)
      : { kind: limit.kind, named: said.waitMs !== null, opensInMs: said.waitMs ?? 0 },
  );
}

/** The known limit of a task's log-in; null when it has none, or is none that lasts. */
export async function limitOfLogin({ db, config }: Stores, task: Task): Promise<ModelLimit | null> {
  const login = loginLimit(config, task);
  const known = login && (await limitOf(db, login));
  return known && known.opensInMs > HOLD_MS ? limitAt(known) : null;
}

/** An agent with a log-in has ended its work: there is no limit any more. */
export async function loginAnswered({ db, config }: Stores, task: Task): Promise<void> {
  const login = loginLimit(config, task);
  if (login) await forgetLimit(db, login);
}

const loginLimit = ({ FETCH_KENNEL_LOGINS }: Config, { harness }: Task): Limited | null =>
  loginsOf(FETCH_KENNEL_LOGINS).has(harness) ? { account: `login:${harness}`, model: '' } : null;

const limitAt = ({ kind, named, opensInMs }: KnownLimit): AtLimit => ({
  what: 'limit',
  kind,
  named,
  opensAt: Date.now() + Math.max(opensInMs, 0),
});

/** For a workflow that does not ask: the budget of a day is a limit that opens at midnight. */
export const dayLimit = (mark: Mark | null): AtLimit | null =>
  mark?.budget.endsAt ? { what: 'limit', kind: 'budget', named: true, opensAt: mark.budget.endsAt + SKEW_MS } : null;
