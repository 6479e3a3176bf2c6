import type { Channel } from '../contracts/ids.ts';
import type { ChannelDriver } from './channel.ts';
import { screen } from './screens.ts';
import { whatsapp } from './whatsapp/whatsapp.ts';

/** Every channel of `contracts/channels.ts` has its driver here. A driver loads its libraries when somebody wants the channel, not before. */
export const CHANNEL_DRIVERS: { readonly [Name in Channel]: ChannelDriver<Name> } = {
  console: screen('console'),
  api: screen('api'),
  whatsapp,
};
