import { type Selectable, sql } from 'kysely';
import type { RoutineStep } from '../../contracts/routine.ts';
import type { Source } from '../../contracts/taint.ts';
import { currentCall } from '../../domain/chat/former-tools.ts';
import { type Db, json, nullIfTaken, type Tx } from '../postgres/database.ts';
import type { RoutineTable } from '../schema/tables/routines.ts';

/** Routines, crons and runs. A tool can find only those of its own chat. */

export type Routine = Selectable<RoutineTable>;

/** Null when the name is taken in this chat. A second call with the same id returns the stored row. */
export async function insertRoutine(
  db: Db,
  routine: {
    id: string;
    chatId: string;
    name: string;
    description: string;
    workspace: string | null;
    steps: RoutineStep[];
    sources?: readonly Source[];
  },
): Promise<Routine | null> {
  await db
    .insertInto('routines')
    .values({
      id: routine.id,
      chat_id: routine.chatId,
      name: routine.name,
      description: routine.description,
      workspace: routine.workspace,
      steps: json(routine.steps),
      sources: json(routine.sources ?? []),
      updated_at: new Date(),
    })
    .onConflict((c) => c.doNothing())
    .execute();
  return (await db.selectFrom('routines').selectAll().where('id', '=', routine.id).executeTakeFirst()) ?? null;
}

export async function listRoutines(db: Db | Tx, chatId: string): Promise<Routine[]> {
  const rows = await db
    .selectFrom('routines')
    .selectAll()
    .where('chat_id', '=', chatId)
    .where('automation', '=', false)
    .orderBy(sql`lower(name)`)
    .execute();
  return rows.map(current);
}

/** A routine whose steps have the names of today. */
const current = (routine: Routine): Routine => ({
  ...routine,
  steps: routine.steps.map(({ tool, ...step }) => {
    const { name, args } = currentCall({ name: tool, args: step.args });
    return { ...step, tool: name, args };
  }),
});

/** By id or by name, in any case. */
export async function findRoutine(db: Db, chatId: string, idOrName: string): Promise<Routine | undefined> {
  const found = await db
    .selectFrom('routines')
    .selectAll()
    .where('chat_id', '=', chatId)
    .where((e) =>
      e.or([
        e('id', '=', idOrName),
        e.and([e('automation', '=', false), e(sql`lower(name)`, '=', idOrName.toLowerCase())]),
      ]),
    )
    .executeTakeFirst();
  return found && current(found);
}

/** Of any chat. */
export async function findRoutineById(db: Db, id: string): Promise<Routine | undefined> {
  const found = await db.selectFrom('routines').selectAll().where('id', '=', id).executeTakeFirst();
  return found && current(found);
}

/** Null when the name is taken in this chat. */
export async function changeRoutine(
  db: Db,
  id: string,
  {
    name,
    description,
    steps,
    sources,
  }: {
    name?: string | undefined;
    description?: string | undefined;
    steps?: RoutineStep[];
    sources?: readonly Source[];
  },
): Promise<Routine | null> {
  const change = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(steps && { steps: json(steps) }),
    ...(sources && { sources: json(sources) }),
  };
  const query = db
    .updateTable('routines')
    .set({ ...change, updated_at: new Date() })
    .where('id', '=', id);
  return await query.returningAll().executeTakeFirstOrThrow().catch(nullIfTaken);
}

/** Its crons are deleted with it. */
export async function deleteRoutine(db: Db, id: string): Promise<void> {
  await db.deleteFrom('routines').where('id', '=', id).execute();
}
