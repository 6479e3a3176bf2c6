/**
 * What a channel can do. Rules, the store and the prompt read this table and never ask for a channel's name. A new
 * channel is one more entry here, and a driver of the same name in `src/gateway/channels/registry.ts`.
 */
interface ChannelCapabilities {
  /** what people call it, where a sentence names it */
  label: string;
  /**
   * Who reads the store directly: the person at the `terminal`, or a `client` of the HTTP API, which also pages long
   * texts by itself. There a message is shown when its row is committed. Null: messages are sent.
   */
  screen: 'terminal' | 'client' | null;
  /** form of the address of a group chat; null: each chat has one person */
  groups: RegExp | null;
  /** files go in both directions */
  media: boolean;
}

const SCREEN = { groups: null, media: false } as const;

export const CHANNELS = {
  console: { ...SCREEN, label: 'the terminal', screen: 'terminal' },
  api: { ...SCREEN, label: 'the API', screen: 'client' },
  whatsapp: {
    label: 'WhatsApp',
    screen: null,
    groups: /@g\.us$/,
    media: true,
  },
  telegram: {
    label: 'Telegram',
    screen: null,
    // groups have negative ids
    groups: /^-/,
    media: true,
  },
} as const satisfies Record<string, ChannelCapabilities>;

/**
 * After a downgrade, a release may meet chats of a channel that it does not know. It expects nothing of that channel.
 */
const UNKNOWN: ChannelCapabilities = { ...SCREEN, label: 'an unknown channel', screen: null };

/** @param channel the channel's name, or the id of a chat, which begins with it */
export function capabilitiesOf(channel: string): ChannelCapabilities {
  const name = channel.split('/')[0]!;
  return Object.hasOwn(CHANNELS, name) ? CHANNELS[name as keyof typeof CHANNELS] : UNKNOWN;
}

/** Whether several people write in the chat at this address. */
export const isGroupChat = (channel: string, address: string): boolean =>
  capabilitiesOf(channel).groups?.test(address) ?? false;

/** The channels whose screens these readers look at. */
export const channelsOnScreen = (of: 'terminal' | 'client'): Array<keyof typeof CHANNELS> =>
  (Object.keys(CHANNELS) as Array<keyof typeof CHANNELS>).filter((name) => CHANNELS[name].screen === of);
