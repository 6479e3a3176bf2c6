import type { Channel } from '../../contracts/ids.ts';
import type { ChannelDriver, ChannelSender } from './channel.ts';
import { telegram } from './telegram/telegram.ts';
import { whatsapp } from './whatsapp/whatsapp.ts';

/**
 * The terminal, the page and HTTP clients read the store, so a message is on screen as soon as its row is committed.
 * Sending has nothing left to do.
 */
export const screenSender: ChannelSender = { send: async () => {} };

/** A channel whose messages come over HTTP, through the role `api`. */
const screen = <Name extends Channel>(name: Name): ChannelDriver<Name> => ({
  name,
  async start({ serve }) {
    const { ended, drain } = await serve(screenSender);
    return { ended, stop: drain };
  },
});

/**
 * The driver of every channel in `contracts/channels.ts`. A driver loads its libraries only when somebody wants the
 * channel.
 */
export const CHANNEL_DRIVERS: { readonly [Name in Channel]: ChannelDriver<Name> } = {
  console: screen('console'),
  api: screen('api'),
  whatsapp,
  telegram,
};
