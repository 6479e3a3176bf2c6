import { capabilitiesOf } from '../../contracts/channels.ts';
import type { Say } from './say.ts';

/** Where something was asked or answered. `channel`: its name, or the id of a chat, which begins with it. */
export function whereOf(channel: string, say: Say): string {
  const { label, screen } = capabilitiesOf(channel);
  return screen === null ? say('where.channel', { channel: label }) : say('where.computer');
}
