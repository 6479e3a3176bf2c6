import type { Checklist, Contact, Location, Message } from '@grammyjs/types';
import { inline } from '../../../../domain/text/foreign-text.ts';

/** What the model reads of a part of a message. `say`: the person is told this. Null: it says nothing. */
type Shown = string | null | { say: Unread };
export type Unread = 'kind.stories' | 'kind.paid' | 'kind.unknown';
/** The parts that not every message can have. */
type Part = Exclude<keyof Message, keyof Message.MediaMessage>;
type Kinds = { [Kind in Part]-?: (part: NonNullable<Message[Kind]>) => Shown };

/** A file, which the channel loads, or what a file is described by. */
const loaded = (): null => null;
/** What changed in the chat, and what only an app or a shop makes use of. */
const silent = (): null => null;

/** Longest piece of a line. */
const PIECE = 300;
const MOST_PIECES = 30;

const line = (what: string, ...pieces: Array<string | undefined>): string => {
  const said = pieces.flatMap((piece) => (piece?.trim() ? [inline(piece, PIECE)] : []));
  return said.length > 0 ? `[${what}: ${said.slice(0, MOST_PIECES).join(', ')}]` : `[${what}]`;
};
const place = ({ latitude, longitude }: Location): string => `${latitude}, ${longitude}`;
const contact = ({ first_name, last_name, phone_number }: Contact): string =>
  line('contact', [first_name, last_name].filter(Boolean).join(' '), phone_number);
const checklist = ({ title, tasks }: Checklist): string =>
  line('checklist', title, ...tasks.map(({ text, completion_date }) => (completion_date ? `${text} (done)` : text)));

/** The words in the blocks of a rich message, which nest in many kinds. */
function wordsIn(node: unknown, depth = 0): string[] {
  if (typeof node === 'string') return [node];
  if (typeof node !== 'object' || node === null || depth > 40) return [];
  if (Array.isArray(node)) return node.flatMap((each) => wordsIn(each, depth + 1));
  return Object.entries(node).flatMap(([field, value]) =>
    typeof value === 'string' && field !== 'text' ? [] : wordsIn(value, depth + 1),
  );
}

/**
 * A decision for each kind of message that Telegram has. The type makes a new kind of a later version of the Bot API an
 * error until it is decided, too.
 */
const KINDS: Kinds = {
  text: (text) => text,
  entities: loaded,
  rich_message: ({ blocks }) => wordsIn(blocks).join(' ').slice(0, 32_768),
  photo: loaded,
  document: loaded,
  animation: loaded,
  audio: loaded,
  live_photo: loaded,
  video: loaded,
  video_note: loaded,
  voice: loaded,
  sticker: ({ emoji }) => line('sticker', emoji),
  dice: ({ emoji, value }) => line('dice', `${emoji} ${value}`),
  contact,
  // a venue has its location as a part of its own
  venue: ({ title, address, location }) => line('location', title, address, place(location)),
  location: (it) => line(it.live_period === undefined ? 'location' : 'location at that moment', place(it)),
  poll: ({ question, options }) => line('poll', question, ...options.map(({ text }) => text)),
  checklist,
  checklist_tasks_done: silent,
  checklist_tasks_added: silent,
  game: ({ title, description }) => line('game', title, description),
  invoice: ({ title, description, currency, total_amount }) =>
    line('invoice', title, description, `${total_amount} ${currency} in its smallest unit`),
  story: () => ({ say: 'kind.stories' }),
  paid_media: () => ({ say: 'kind.paid' }),
  gift: () => '[gift]',
  unique_gift: () => '[gift]',
  successful_payment: silent,
  refunded_payment: silent,
  passport_data: silent,
  users_shared: silent,
  chat_shared: silent,
  connected_website: silent,
  write_access_allowed: silent,
  web_app_data: silent,
  new_chat_members: silent,
  left_chat_member: silent,
  new_chat_title: silent,
  new_chat_photo: silent,
  delete_chat_photo: silent,
  group_chat_created: silent,
  supergroup_chat_created: silent,
  channel_chat_created: silent,
  chat_owner_left: silent,
  chat_owner_changed: silent,
  community_chat_added: silent,
  community_chat_joined: silent,
  community_chat_removed: silent,
  message_auto_delete_timer_changed: silent,
  migrate_to_chat_id: silent,
  migrate_from_chat_id: silent,
  pinned_message: silent,
  managed_bot_created: silent,
  poll_option_added: silent,
  poll_option_deleted: silent,
  proximity_alert_triggered: silent,
  boost_added: silent,
  chat_background_set: silent,
  forum_topic_created: silent,
  forum_topic_edited: silent,
  forum_topic_closed: silent,
  forum_topic_reopened: silent,
  general_forum_topic_hidden: silent,
  general_forum_topic_unhidden: silent,
  giveaway_created: silent,
  giveaway: silent,
  giveaway_winners: silent,
  giveaway_completed: silent,
  gift_upgrade_sent: silent,
  paid_message_price_changed: silent,
  direct_message_price_changed: silent,
  suggested_post_info: silent,
  suggested_post_approved: silent,
  suggested_post_approval_failed: silent,
  suggested_post_declined: silent,
  suggested_post_paid: silent,
  suggested_post_refunded: silent,
  video_chat_scheduled: silent,
  video_chat_started: silent,
  video_chat_ended: silent,
  video_chat_participants_invited: silent,
};

/** Kinds whose words an address book, a game or a shop wrote, and not the person who sends them. */
const SHARED = ['contact', 'venue', 'game', 'invoice', 'rich_message'] as const satisfies readonly Part[];

export const isShared = (message: Message): boolean => SHARED.some((kind) => message[kind] !== undefined);

/** Fields that every kind of message can have; the Bot API's newest ones are seen as kinds. */
const isKnown = (field: string): field is Part => Object.hasOwn(KINDS, field);

/** What a message says beside text, caption and file. A message of a kind that is newer than this list is named. */
export function shownIn(message: Message): Shown {
  const kinds = Object.keys(message).filter(isKnown);
  for (const kind of kinds) {
    // a venue repeats its location, and an animation its document
    if (kind === 'location' && message.venue) continue;
    const shown = (KINDS[kind] as (part: unknown) => Shown)(message[kind]);
    if (shown !== null && shown !== '') return shown;
  }
  return kinds.length === 0 && message.caption === undefined ? { say: 'kind.unknown' } : null;
}
