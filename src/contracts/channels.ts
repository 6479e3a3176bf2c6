/**
 * What a channel can do. Rules, the store and the prompt ask this table and never for a name, so that a new channel is one more entry here.
 * Its driver stands under the same name in `src/channels/registry.ts`.
 */
export interface ChannelCapabilities {
  /** what people call it, where a sentence names it */
  label: string;
  /**
   * Who reads the store itself, so that a message is shown when its row is committed: the person at the `terminal`, or a `client` of the HTTP
   * API, which also pages long texts by itself. Null: nobody does, messages are sent.
   */
  screen: 'terminal' | 'client' | null;
  /** form of the address of a chat in which several people write; null: one person has each chat */
  groups: RegExp | null;
  /** a message that was sent can get another text */
  edits: boolean;
  /** an emoji on a message is told, and can answer a question */
  reactions: boolean;
  /** a choice can be shown as a poll */
  polls: boolean;
  /** shows that an answer is being written */
  typing: boolean;
  /** files go in both directions */
  media: boolean;
  /** characters of one message that the channel takes at most; null: any number */
  textLimit: number | null;
}

const SCREEN = { groups: null, edits: false, reactions: false, polls: false, typing: false, media: false, textLimit: null } as const;

export const CHANNELS = {
  console: { ...SCREEN, label: 'the terminal', screen: 'terminal' },
  api: { ...SCREEN, label: 'the API', screen: 'client' },
  whatsapp: {
    label: 'WhatsApp',
    screen: null,
    groups: /@g\.us$/,
    edits: true,
    reactions: true,
    polls: true,
    typing: true,
    media: true,
    textLimit: 65_536,
  },
} as const satisfies Record<string, ChannelCapabilities>;

/** People go back to an older release, which may then meet chats of a channel that it does not know: nothing is expected of it. */
const UNKNOWN: ChannelCapabilities = { ...SCREEN, label: 'an unknown channel', screen: null };

/** @param channel its name, or the id of a chat, which begins with it */
export function capabilitiesOf(channel: string): ChannelCapabilities {
  const name = channel.split('/')[0]!;
  return Object.hasOwn(CHANNELS, name) ? CHANNELS[name as keyof typeof CHANNELS] : UNKNOWN;
}

/** Whether several people write in the chat at this address. */
export const isGroupChat = (channel: string, address: string): boolean => capabilitiesOf(channel).groups?.test(address) ?? false;

/** The channels whose screens are read by these. */
export const channelsOnScreen = (of: 'terminal' | 'client'): Array<keyof typeof CHANNELS> =>
  (Object.keys(CHANNELS) as Array<keyof typeof CHANNELS>).filter((name) => CHANNELS[name].screen === of);
