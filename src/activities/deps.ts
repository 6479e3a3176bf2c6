import type { Client } from '@temporalio/client';
import type { Model } from '../adapters/model/model.ts';
import type { Config } from '../config.ts';
import type { Db } from '../store/database.ts';

/** What activities work with; made once by the role's process. */
export interface ActivityDeps {
  db: Db;
  temporal: Client;
  config: Config;
  model: Model;
}
