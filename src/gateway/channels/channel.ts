import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { Db } from '../../store/postgres/database.ts';
import type { Intake } from '../intake/intake.ts';

/**
 * A channel as the gateway sees it: a way in and a way out. Its capabilities are in `contracts/channels.ts`, because
 * rules and the store need them too.
 */
export interface ChannelDriver<Name extends Channel = Channel> {
  readonly name: Name;
  /**
   * Begins to pass messages to intake, and to serve its task queue while messages can be sent. A channel that nobody
   * has set up waits until somebody does.
   */
  start(gateway: Gateway): Promise<RunningChannel>;
}

export interface RunningChannel {
  /**
   * rejects when the channel has failed for good, and the process must end; unset for a channel that recovers by itself
   */
  ended?: Promise<void>;
  /** Accepts and sends nothing more. Unsent messages go to the next gateway under the same ids. */
  stop(): Promise<void>;
}

/** Dependencies of a channel. */
export interface Gateway {
  db: Db;
  config: Config;
  log: Logger;
  /** the way in */
  intake: Intake;
  /** this process, for a channel that only one process may hold */
  holder: LeaseHolder;
  /** 64 hex digits of this home, created at the first call */
  encryptionKey(): string;
  /** The way out: polls the task queue of the channel and passes its messages to `sender`. */
  serve(sender: ChannelSender): Promise<Serving>;
  /** ends the process, so that the supervisor starts a new one */
  exit(reason: string): void;
}

export interface Serving {
  /** rejects when the queue can no longer be polled */
  ended: Promise<void>;
  /** stops polling, and resolves when no send is running */
  drain(): Promise<void>;
}

export interface LeaseHolder {
  /** unique among all gateways, for ever */
  id: string;
  /** true when this holder has certainly stopped; false when it runs or nobody can know */
  isDead(id: string): Promise<boolean>;
}

interface Outgoing {
  /** the same on every attempt: the channel's message id is derived from it */
  id: string;
  address: string;
  kind: string;
  body: string;
}

/** `send` returns when the channel has accepted the message. Sending twice under one id has one effect. */
export interface ChannelSender {
  send(message: Outgoing, signal: AbortSignal): Promise<void>;
}

/**
 * The channel accepts no messages now. Nothing was lost, and the same send may work after `retryAfterMs`. `message`
 * says why.
 */
export class ChannelAway extends Error {
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.name = 'ChannelAway';
    this.retryAfterMs = retryAfterMs;
  }
}
