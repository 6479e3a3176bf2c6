import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Intake } from '../intake/intake.ts';
import type { Store } from '../store/postgres/database.ts';

/** What both HTTP servers are given. */
export interface ApiDeps {
  config: Config;
  /** the runtime token that `/v1` asks for */
  token: string;
  store: Store;
  intake: Intake;
  version: string;
  startedAt: Date;
  /** secret of the keyed hash in workflow ids; thread ids are random, so the default is no weakness for API chats */
  chatSecret?: string;
  /** aborted when the process is about to stop: open event streams end */
  stopping?: AbortSignal;
  log?: Pick<Logger, 'error' | 'warn'>;
  /** shortened by tests */
  stream?: Partial<StreamTimes>;
}

export interface StreamTimes {
  /** a stream that was silent this long gets a comment, so that proxies keep it */
  keepaliveMs: number;
  /** look again after this long even when nothing woke us */
  pollMs: number;
}
