import { endpointOf } from '../adapters/model/endpoint.ts';
import type { Config } from '../config.ts';
import type { SetUp } from '../domain/chat/help.ts';
import { listHosts } from '../store/kennel/hosts.ts';
import type { Db, Tx } from '../store/postgres/database.ts';

/** What is set up at this moment. */
export async function setUpOf(db: Db | Tx, config: Config): Promise<SetUp> {
  const hosts = await listHosts(db);
  return { practice: endpointOf(config) === null, tasks: hosts.some(({ alive, ready }) => alive && ready) };
}
