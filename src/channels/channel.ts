import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Channel } from '../contracts/ids.ts';
import type { Intake } from '../intake/intake.ts';
import type { Db } from '../store/postgres/database.ts';

/**
 * A way in and out: what lies in a channel's folder, as the gateway sees it. What the channel can do stands under its name in
 * `contracts/channels.ts`, because rules and store ask for it, too.
 */
export interface ChannelDriver<Name extends Channel = Channel> {
  readonly name: Name;
  /** Begins to take messages into intake, and to serve its task queue while messages can be sent. A channel that nobody has set up waits until somebody does. */
  start(gateway: Gateway): Promise<RunningChannel>;
}

export interface RunningChannel {
  /** rejects when the channel has failed for good: the process ends. Left out where a channel recovers by itself. */
  ended?: Promise<void>;
  /** Takes and sends nothing more. What was not sent goes to the next gateway under the same id. */
  stop(): Promise<void>;
}

/** What a gateway gives to each of its channels. */
export interface Gateway {
  db: Db;
  config: Config;
  log: Logger;
  /** the way in */
  intake: Intake;
  /** this process, for a channel that only one process may hold */
  holder: LeaseHolder;
  /** 64 hex digits of this home, made at the first call */
  encryptionKey(): string;
  /** The way out: polls the task queue of the channel and gives its messages to `sender`. */
  serve(sender: ChannelSender): Promise<Serving>;
  /** ends the process: the supervisor starts a sound one */
  exit(reason: string): void;
}

export interface Serving {
  /** rejects when the queue cannot be polled any more */
  ended: Promise<void>;
  /** polls no more, and resolves when no send is under way */
  drain(): Promise<void>;
}

export interface LeaseHolder {
  /** unique among all gateways, now and ever */
  id: string;
  /** true when this holder is surely no longer running; false when it runs or nobody can know */
  isDead(id: string): Promise<boolean>;
}

export interface Outgoing {
  /** the same on every attempt: the channel's message id is derived from it */
  id: string;
  address: string;
  kind: string;
  body: string;
}

/** `send` returns when the channel has taken the message; doing it twice with one id has one effect. */
export interface ChannelSender {
  send(message: Outgoing, signal: AbortSignal): Promise<void>;
}

/** The channel does not take messages now: nothing was lost, and the same send can work after `retryAfterMs`. `message` says why. */
export class ChannelAway extends Error {
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.name = 'ChannelAway';
    this.retryAfterMs = retryAfterMs;
  }
}
