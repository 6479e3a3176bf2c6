import { sql } from 'kysely';
import type { ModelFacts } from '../../../contracts/model.ts';
import type { Db } from '../../postgres/database.ts';

/** An older lesson is learned anew: servers and models behind the same name change. */
const FRESH_DAYS = 30;

/** What was learned of the models of an endpoint, by the name of the model. `baseUrl` has no credentials. */
async function readModelFacts(db: Db, baseUrl: string): Promise<Map<string, ModelFacts>> {
  const rows = await db
    .selectFrom('model_facts')
    .select(['model', 'facts'])
    .where('base_url', '=', baseUrl)
    .where('learned_at', '>', sql<Date>`now() - ${FRESH_DAYS} * interval '1 day'`)
    .execute();
  return new Map(rows.map(({ model, facts }) => [model, facts]));
}

/** Adds to what is known of a model; the newer fact counts. */
async function addModelFacts(db: Db, baseUrl: string, model: string, facts: ModelFacts): Promise<void> {
  await db
    .insertInto('model_facts')
    .values({ base_url: baseUrl, model, facts: JSON.stringify(facts) })
    .onConflict((c) =>
      c
        .columns(['base_url', 'model'])
        .doUpdateSet({ facts: sql`model_facts.facts || excluded.facts`, learned_at: sql<Date>`now()` }),
    )
    .execute();
}

/** The store of facts that a model is opened with. */
export const factsIn = (
  db: Db,
): {
  read(baseUrl: string): Promise<Map<string, ModelFacts>>;
  add(baseUrl: string, model: string, facts: ModelFacts): Promise<void>;
} => ({
  read: (baseUrl) => readModelFacts(db, baseUrl),
  add: (baseUrl, model, facts) => addModelFacts(db, baseUrl, model, facts),
});
