import type { Channel } from '../contracts/ids.ts';

export interface Outgoing {
  /** the same on every attempt: the channel's message id is derived from it */
  id: string;
  address: string;
  kind: string;
  body: string;
}

/** A way out. `send` returns when the channel has taken the message; doing it twice with one id has one effect. */
export interface ChannelSender {
  readonly name: Channel;
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

/**
 * Channels whose screens read the store (a terminal, an HTTP client): the message was on screen when its event was
 * committed, so taking it is all there is to do.
 */
export const screenChannel = (name: 'console' | 'api'): ChannelSender => ({ name, send: async () => {} });
