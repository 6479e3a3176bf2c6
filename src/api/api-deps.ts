import type { PayloadCodec } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Config, Reloaded } from '../config.ts';
import type { OwnerBackups, OwnerDoctor, OwnerLogs, OwnerTemporal } from '../contracts/owner.ts';
import type { Intake } from '../gateway/intake/intake.ts';
import type { Store } from '../store/postgres/database.ts';

/** Dependencies of both HTTP servers. */
export interface ApiDeps {
  config: Config;
  /** runtime token that `/v1` asks for */
  token: string;
  store: Store;
  intake: Intake;
  /** of the payloads in Temporal */
  codec: PayloadCodec;
  /** reads the settings again. @throws ConfigError */
  reload: () => Reloaded;
  /** the instance around this process */
  instance: Instance;
  version: string;
  startedAt: Date;
  /** key of the hash in workflow ids; thread ids are random, so the default is safe for API chats */
  chatSecret?: string;
  /** aborted when the process is about to stop; open event streams then end */
  stopping?: AbortSignal;
  log?: Pick<Logger, 'error' | 'warn'>;
  /** shortened by tests */
  stream?: Partial<StreamTimes>;
}

/** What only the program around the servers knows: files of the home, and what `fetch doctor` tries. */
export interface Instance {
  diagnose(): Promise<OwnerDoctor>;
  /** has the supervisor start all roles again; null where there is none */
  restart: (() => Promise<void>) | null;
  /**
   * `after`: `next` of an earlier answer; without it the last `limit` lines. @throws RangeError for an `after` that is
   * none
   */
  logs(wanted: { after: string | null; role: string | null; limit: number }): OwnerLogs;
  backups(): OwnerBackups;
  /** `workflow`: its id; null for the list of all */
  temporalUi(workflow: string | null): Promise<OwnerTemporal>;
}

export interface StreamTimes {
  /** a stream that is silent this long gets a comment, so that proxies do not close it */
  keepaliveMs: number;
  /** read again after this long, even without a notification */
  pollMs: number;
}
