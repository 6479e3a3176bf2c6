import type { Channel } from '../../contracts/ids.ts';
import type { ChannelDriver } from './channel.ts';
import { screen } from './screens.ts';
import { whatsapp } from './whatsapp/whatsapp.ts';

/**
 * The driver of every channel in `contracts/channels.ts`. A driver loads its libraries only when somebody wants the
 * channel.
 */
export const CHANNEL_DRIVERS: { readonly [Name in Channel]: ChannelDriver<Name> } = {
  console: screen('console'),
  api: screen('api'),
  whatsapp,
};
