import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Kennel } from '../adapters/kennel/kennel.ts';
import type { Model } from '../adapters/model/model.ts';
import type { Config } from '../config.ts';
import type { Db } from '../store/postgres/database.ts';

/** What activities work with; made once by the role's process. */
export interface ActivityDeps {
  db: Db;
  temporal: Client;
  config: Config;
  model: Model;
  /** for what ended; nothing is said without it */
  log?: Logger;
}

/** What a worker of a host with containers has besides; tools of the kennel run only there. */
export interface HostDeps {
  kennel: Kennel;
  host: string;
  workspacesFolder: string;
}
