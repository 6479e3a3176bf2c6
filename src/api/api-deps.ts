import type { PayloadCodec } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Intake } from '../intake/intake.ts';
import type { Store } from '../store/postgres/database.ts';

/** What both HTTP servers work with. */
export interface ApiDeps {
  config: Config;
  /** runtime token that `/v1` asks for */
  token: string;
  store: Store;
  intake: Intake;
  /** of the payloads in Temporal */
  codec: PayloadCodec;
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

export interface StreamTimes {
  /** a stream that is silent this long gets a comment, so that proxies do not close it */
  keepaliveMs: number;
  /** read again after this long, even without a notification */
  pollMs: number;
}
