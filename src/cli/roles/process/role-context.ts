import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import type { Config } from '../../../config.ts';
import type { Store } from '../../../store/postgres/database.ts';
import type { Role } from '../../instance/supervisor/role-process.ts';

/** Dependencies of the roles. Those of one process share it. */
export interface Connections {
  store: Store;
  temporal: Client;
  /** of workers */
  native: NativeConnection;
  /** of workers, and the same for the client */
  converter: DataConverter;
}

/** Arguments of a role. */
export interface RoleContext extends Connections {
  config: Config;
  role: Role;
  /** no other role runs in this process */
  alone: boolean;
}
