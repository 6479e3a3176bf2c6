import { sql } from 'kysely';
import type {
  AskedCheck,
  Checked,
  Commands,
  Part,
  ProjectProfile,
  WantedCheck,
} from '../../../domain/tasks/checks/project-profile.ts';
import { NO_PROFILE } from '../../../domain/tasks/checks/project-profile.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';

/** What is known of projects besides their files. */

interface Project {
  host: string;
  workspace: string;
}

/** So many flaky tests of a project are remembered. */
const MOST_FLAKY = 200;

export async function projectProfile(db: Db | Tx, { host, workspace }: Project): Promise<ProjectProfile> {
  const row = await db
    .selectFrom('project_profiles')
    .selectAll()
    .where('host', '=', host)
    .where('workspace', '=', workspace)
    .executeTakeFirst();
  if (!row) return NO_PROFILE;
  const { said, checked, flaky, asked } = row;
  return { isKnown: true, said, checked, flaky, asked };
}

type Changed = { said?: string; checked?: string; flaky?: string; asked?: string | null; wanted?: string };

async function change(db: Db | Tx, { host, workspace }: Project, changed: Changed): Promise<void> {
  await db
    .insertInto('project_profiles')
    .values({ host, workspace, ...changed })
    .onConflict((c) => c.columns(['host', 'workspace']).doUpdateSet(changed))
    .execute();
}

/** Keeps what a person says of one part; null forgets it. */
export async function sayPart(db: Db | Tx, at: Project, part: Part, command: string | null): Promise<void> {
  const { said } = await projectProfile(db, at);
  const rest: Commands = { ...said };
  delete rest[part];
  await change(db, at, { said: json(command === null ? rest : { ...rest, [part]: command }) });
}

export const keepChecked = (db: Db, at: Project, checked: Checked): Promise<void> =>
  change(db, at, { checked: json(checked) });

/** Adds tests that failed and passed at the same commit; the newest count. */
export async function noteFlaky(db: Db, at: Project, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const { flaky } = await projectProfile(db, at);
  await change(db, at, { flaky: json([...new Set([...names, ...flaky])].slice(0, MOST_FLAKY)) });
}

/** Keeps what the owner was asked to allow for a check; null once that is allowed. */
export const keepAskedCheck = (db: Db | Tx, at: Project, asked: AskedCheck | null): Promise<void> =>
  change(db, at, { asked: asked && json(asked) });

/** Keeps that a person asked for a check, until that has begun. */
export const keepWantedCheck = (tx: Tx, at: Project, wanted: WantedCheck): Promise<void> =>
  change(tx, at, { wanted: json(wanted) });

export async function noteBegunCheck(db: Db, { host, workspace }: Project, round: string): Promise<void> {
  await db
    .updateTable('project_profiles')
    .set({ wanted: null })
    .where('host', '=', host)
    .where('workspace', '=', workspace)
    .where(sql`wanted->>'round'`, '=', round)
    .execute();
}

export async function forgetProfile(db: Db | Tx, { host, workspace }: Project): Promise<void> {
  await db.deleteFrom('project_profiles').where('host', '=', host).where('workspace', '=', workspace).execute();
}

/** For a project that has come in, which may have the name of an earlier one. */
export async function beginProfile(db: Db, at: Project): Promise<void> {
  await forgetProfile(db, at);
  await keepAskedCheck(db, at, null);
}
