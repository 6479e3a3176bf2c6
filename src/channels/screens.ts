import type { Channel } from '../contracts/ids.ts';
import type { ChannelDriver, ChannelSender } from './channel.ts';

/** What a terminal, a page or an HTTP client shows is read from the store: the message was on screen when its row was committed, so taking it is all there is to do. */
export const screenSender: ChannelSender = { send: async () => {} };

/** A channel whose messages come over HTTP: the role `api` is its way in. */
export const screen = <Name extends Channel>(name: Name): ChannelDriver<Name> => ({
  name,
  async start({ serve }) {
    const { ended, drain } = await serve(screenSender);
    return { ended, stop: drain };
  },
});
