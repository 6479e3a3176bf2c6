import type { FactsStore } from '../../../adapters/model/endpoint/facts.ts';
import type { Config } from '../../../config.ts';
import { openStore, type Store } from '../../../store/postgres/database.ts';
import { factsIn } from '../../../store/turns/steps/model-facts.ts';
import { directProblem } from '../connections/problems.ts';
import { databaseUrl } from './postgres.ts';

/** For a command that reads or changes what a running instance has stored. `application`: its name in the database. */
export async function withStore<T>(config: Config, application: string, use: (store: Store) => Promise<T>): Promise<T> {
  const url =
    config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? databaseUrl(config.FETCH_HOME, config.FETCH_POSTGRES_PORT);
  const store = await openStore(url, { max: 2, application, migrate: false }).catch(async (error) => {
    if (config.DATABASE_URL) throw await directProblem(config, error);
    throw new Error(`The database does not answer (${(error as Error).message}). Start Fetch first: fetch up.`);
  });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Facts about models that the instance has learned, for a command that asks one. It rejects while no instance runs. */
export const factsOf = (config: Config): FactsStore => ({
  read: (baseUrl) => withStore(config, 'fetch-facts', ({ db }) => factsIn(db).read(baseUrl)),
  add: (baseUrl, model, facts) => withStore(config, 'fetch-facts', ({ db }) => factsIn(db).add(baseUrl, model, facts)),
});
