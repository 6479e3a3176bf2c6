import type { TestRun } from '../../../domain/tasks/checks/verdict.ts';
import { DAY } from '../../../domain/time.ts';
import { type Db, json } from '../../postgres/database.ts';

/** What the tests of a project said of one state of its files, to compare later states with. */

export interface TestedState {
  /** id of the workspace's folder */
  workspace: string;
  /** id of git's tree of the files */
  tree: string;
  /** id of the image */
  environment: string;
}

/** Nothing begins at an older state again. */
const KEPT_MS = 60 * DAY;

export async function testRunOf(db: Db, { workspace, tree, environment }: TestedState): Promise<TestRun | null> {
  const row = await db
    .selectFrom('test_runs')
    .select('run')
    .where('workspace', '=', workspace)
    .where('tree', '=', tree)
    .where('environment', '=', environment)
    .executeTakeFirst();
  return row?.run ?? null;
}

/** Keeps the newest run of a state, and removes old ones. */
export async function keepTestRun(db: Db, state: TestedState, run: TestRun): Promise<void> {
  const newest = { run: json(run), ran_at: new Date() };
  await db
    .insertInto('test_runs')
    .values({ ...state, ...newest })
    .onConflict((c) => c.columns(['workspace', 'tree', 'environment']).doUpdateSet(newest))
    .execute();
  await db
    .deleteFrom('test_runs')
    .where('ran_at', '<', new Date(Date.now() - KEPT_MS))
    .execute();
}
