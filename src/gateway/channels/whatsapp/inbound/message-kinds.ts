import type { proto } from '@whiskeysockets/baileys';
import { sanitiseText } from '../../../intake/sanitise.ts';

/** What a person reads of a part of a message; `say` answers a part that nothing can be made of; null: it says nothing. */
type Shown = string | null | undefined | { say: Unread };
type Kinds = { [Kind in keyof proto.IMessage]-?: (part: NonNullable<proto.IMessage[Kind]>) => Shown };

/** What is said to a message that cannot be read. */
export type Unread = 'kind.once' | 'kind.unknown' | 'kind.onPhone' | 'kind.calls';

/** Messages of WhatsApp's own machinery, and answers to things that only phones show. */
const silent = (): null => null;
/** A message inside another one, deeper than `opened` goes. */
const wrapped = silent;

const line = (what: string, ...words: Array<string | null | undefined>): string => {
  const said = words.map((word) => word?.trim()).filter(Boolean);
  return said.length > 0 ? `[${what}: ${said.join(', ')}]` : `[${what}]`;
};
const money = (currency: string | null | undefined, thousandths: unknown): string =>
  Number(thousandths ?? 0) > 0 ? `${(Number(thousandths) / 1000).toFixed(2)} ${currency ?? ''}`.trim() : '';
const textOfNote = (message: proto.IMessage | null | undefined): string =>
  message?.conversation ?? message?.extendedTextMessage?.text ?? '';
const poll = ({ name, options }: proto.Message.IPollCreationMessage): string =>
  `[poll: ${name ?? ''}: ${(options ?? []).map((option) => option.optionName ?? '').join(' / ')}]`;
const results = ({ name, pollVotes }: proto.Message.IPollResultSnapshotMessage): string =>
  line(
    'poll results',
    name,
    ...(pollVotes ?? []).map((vote) => `${vote.optionName ?? ''} ${Number(vote.optionVoteCount ?? 0)}`),
  );
const place = (
  { degreesLatitude, degreesLongitude }: proto.Message.ILocationMessage | proto.Message.ILiveLocationMessage,
  ...words: Array<string | null | undefined>
): string => {
  const degrees = [degreesLatitude, degreesLongitude];
  return line('location', ...words, degrees.every(Number.isFinite) ? degrees.join(', ') : '');
};

function template(message: proto.Message.ITemplateMessage): string {
  const hydrated = message.hydratedTemplate ?? message.hydratedFourRowTemplate;
  if (message.interactiveMessageTemplate) return interactive(message.interactiveMessageTemplate);
  return line('message', hydrated?.hydratedTitleText, hydrated?.hydratedContentText, hydrated?.hydratedFooterText);
}

function interactive({ header, body, footer, carouselMessage }: proto.Message.IInteractiveMessage): string {
  const cards = (carouselMessage?.cards ?? []).slice(0, 20).map((card) => card.body?.text);
  return line('message', header?.title, header?.subtitle, body?.text, footer?.text, ...cards);
}

/**
 * A decision for each kind of message that WhatsApp has. The type makes a new kind of a later version of the library an
 * error until it is decided, too.
 */
const KINDS: Kinds = {
  conversation: (text) => text,
  extendedTextMessage: ({ text }) => text,
  imageMessage: ({ caption }) => caption,
  videoMessage: ({ caption }) => caption,
  ptvMessage: ({ caption }) => caption,
  documentMessage: ({ caption }) => caption,
  audioMessage: silent,
  stickerMessage: ({ isAnimated }) => (isAnimated ? '[animated sticker]' : '[sticker]'),
  stickerPackMessage: ({ name, publisher, caption }) => line('sticker pack', name, publisher, caption),
  contactMessage: (contact) => contactLine(contact),
  contactsArrayMessage: ({ contacts }) => (contacts ?? []).slice(0, 20).map(contactLine).join('\n'),
  locationMessage: (it) => place(it, it.name, it.address),
  liveLocationMessage: (it) => place(it, it.caption),
  eventMessage: ({ name, description, location, isCanceled }) =>
    line(isCanceled ? 'event, cancelled' : 'event', name, description, location?.name),
  pollCreationMessage: poll,
  pollCreationMessageV2: poll,
  pollCreationMessageV3: poll,
  pollCreationMessageV5: poll,
  pollResultSnapshotMessage: results,
  pollResultSnapshotMessageV3: results,
  groupInviteMessage: ({ groupName, caption }) => line('invitation to the group', groupName, caption),
  newsletterAdminInviteMessage: ({ newsletterName, caption }) =>
    line('invitation to run the channel', newsletterName, caption),
  newsletterFollowerInviteMessageV2: ({ newsletterName, caption }) =>
    line('invitation to the channel', newsletterName, caption),
  productMessage: ({ product, catalog, body, footer }) =>
    line(
      product ? 'product' : 'catalogue',
      product?.title ?? catalog?.title,
      product?.description ?? catalog?.description,
      money(product?.currencyCode, product?.salePriceAmount1000 || product?.priceAmount1000),
      body,
      footer,
    ),
  orderMessage: ({ orderTitle, itemCount, message, totalCurrencyCode, totalAmount1000 }) =>
    line(
      'order',
      orderTitle,
      itemCount ? `${itemCount} items` : '',
      money(totalCurrencyCode, totalAmount1000),
      message,
    ),
  invoiceMessage: ({ note }) => line('invoice', note),
  sendPaymentMessage: ({ noteMessage }) => line('payment', textOfNote(noteMessage)),
  requestPaymentMessage: ({ noteMessage, currencyCodeIso4217, amount1000 }) =>
    line('request for a payment', money(currencyCodeIso4217, amount1000), textOfNote(noteMessage)),
  declinePaymentRequestMessage: () => '[declined a request for a payment]',
  cancelPaymentRequestMessage: () => '[cancelled a request for a payment]',
  paymentInviteMessage: () => '[invitation to payments]',
  requestPhoneNumberMessage: () => '[asks for your phone number]',
  chat: ({ displayName }) => line('chat', displayName),
  scheduledCallCreationMessage: ({ title, scheduledTimestampMs }) =>
    line('planned call', title, timeOf(scheduledTimestampMs)),
  highlyStructuredMessage: ({ hydratedHsm, params }) =>
    hydratedHsm ? template(hydratedHsm) : line('message', ...(params ?? [])),
  templateMessage: template,
  interactiveMessage: interactive,
  buttonsMessage: ({ text, contentText, footerText, buttons }) =>
    line('message', text, contentText, footerText, ...(buttons ?? []).map((button) => button.buttonText?.displayText)),
  listMessage: ({ title, description, footerText, sections }) =>
    line(
      'list',
      title,
      description,
      ...(sections ?? []).flatMap(({ rows }) => (rows ?? []).map((row) => row.title)).slice(0, 50),
      footerText,
    ),
  buttonsResponseMessage: ({ selectedDisplayText }) => selectedDisplayText,
  templateButtonReplyMessage: ({ selectedDisplayText }) => selectedDisplayText,
  listResponseMessage: ({ title, description }) => title || description,
  interactiveResponseMessage: ({ body }) => body?.text,
  commentMessage: ({ message }) => textOfNote(message) || { say: 'kind.unknown' },
  questionResponseMessage: ({ text }) => text,
  statusQuestionAnswerMessage: ({ text }) => text,
  statusQuotedMessage: ({ text }) => text,
  richResponseMessage: ({ submessages }) => (submessages ?? []).map(({ messageText }) => messageText ?? '').join('\n'),
  call: () => ({ say: 'kind.calls' }),
  bcallMessage: () => ({ say: 'kind.calls' }),
  encCommentMessage: () => ({ say: 'kind.unknown' }),
  placeholderMessage: () => ({ say: 'kind.onPhone' }),
  viewOnceMessage: () => ({ say: 'kind.once' }),
  viewOnceMessageV2: () => ({ say: 'kind.once' }),
  viewOnceMessageV2Extension: () => ({ say: 'kind.once' }),
  // decided before: by whom and about what they are, not by their text
  protocolMessage: silent,
  secretEncryptedMessage: silent,
  reactionMessage: silent,
  pollUpdateMessage: silent,
  albumMessage: silent,
  deviceSentMessage: silent,
  // a reaction or an answer that cannot be decrypted without the message that it is about
  encReactionMessage: silent,
  encEventResponseMessage: silent,
  senderKeyDistributionMessage: silent,
  fastRatchetKeySenderKeyDistributionMessage: silent,
  messageContextInfo: silent,
  stickerSyncRmrMessage: silent,
  keepInChatMessage: silent,
  pinInChatMessage: silent,
  scheduledCallEditMessage: silent,
  callLogMesssage: silent,
  messageHistoryBundle: silent,
  messageHistoryNotice: silent,
  statusNotificationMessage: silent,
  statusStickerInteractionMessage: silent,
  ephemeralMessage: wrapped,
  documentWithCaptionMessage: wrapped,
  editedMessage: wrapped,
  groupMentionedMessage: wrapped,
  botInvokeMessage: wrapped,
  lottieStickerMessage: wrapped,
  eventCoverImage: wrapped,
  statusMentionMessage: wrapped,
  pollCreationOptionImageMessage: wrapped,
  associatedChildMessage: wrapped,
  groupStatusMentionMessage: wrapped,
  pollCreationMessageV4: wrapped,
  statusAddYours: wrapped,
  groupStatusMessage: wrapped,
  groupStatusMessageV2: wrapped,
  limitSharingMessage: wrapped,
  botTaskMessage: wrapped,
  questionMessage: wrapped,
  questionReplyMessage: wrapped,
  botForwardedMessage: wrapped,
};

/** Kinds whose text a business, a channel or an address book wrote, and not the person who sends it. */
const SHARED: ReadonlySet<string> = new Set<keyof proto.IMessage>([
  'contactMessage',
  'contactsArrayMessage',
  'stickerPackMessage',
  'pollResultSnapshotMessage',
  'pollResultSnapshotMessageV3',
  'groupInviteMessage',
  'newsletterAdminInviteMessage',
  'newsletterFollowerInviteMessageV2',
  'productMessage',
  'orderMessage',
  'invoiceMessage',
  'highlyStructuredMessage',
  'templateMessage',
  'interactiveMessage',
  'buttonsMessage',
  'listMessage',
  'richResponseMessage',
]);

const VIEW_ONCE_WRAPPERS = ['viewOnceMessage', 'viewOnceMessageV2', 'viewOnceMessageV2Extension'] as const;
const WRAPPERS = [
  'ephemeralMessage',
  ...VIEW_ONCE_WRAPPERS,
  'documentWithCaptionMessage',
  'editedMessage',
  'associatedChildMessage',
  'groupStatusMessage',
  'groupStatusMessageV2',
  'groupMentionedMessage',
  'botInvokeMessage',
  'botForwardedMessage',
  'botTaskMessage',
  'lottieStickerMessage',
  'eventCoverImage',
  'statusMentionMessage',
  'groupStatusMentionMessage',
  'pollCreationOptionImageMessage',
  'pollCreationMessageV4',
  'statusAddYours',
  'questionMessage',
  'questionReplyMessage',
] as const;
type Wrapper = (typeof WRAPPERS)[number];
/** No phone nests deeper, and a forged message may nest without end. */
const DEEPEST = 8;

/** A message without its wrappers, their names from the outside in, and the contexts that it passed. */
export interface Opened {
  message: proto.IMessage;
  wrappers: readonly Wrapper[];
  association: proto.IMessageAssociation | null;
}

export function opened(message: proto.IMessage): Opened {
  const wrappers: Wrapper[] = [];
  let inner = message;
  let association = associationOf(inner);
  while (wrappers.length < DEEPEST) {
    const wrapper = WRAPPERS.find((name) => inner[name]?.message);
    if (!wrapper) break;
    wrappers.push(wrapper);
    inner = inner[wrapper]!.message!;
    association = associationOf(inner) ?? association;
  }
  return { message: inner, wrappers, association };
}

const associationOf = ({ messageContextInfo }: proto.IMessage): proto.IMessageAssociation | null =>
  messageContextInfo?.messageAssociation ?? null;

const MEDIA = ['imageMessage', 'videoMessage', 'ptvMessage', 'audioMessage', 'documentMessage'] as const;

/** Whether a message is a file that may be seen once. A text in the same wrapper is a text. */
export function isViewOnce({ message, wrappers }: Opened): boolean {
  const marked = [message.imageMessage, message.videoMessage, message.ptvMessage, message.audioMessage].some(
    (part) => part?.viewOnce === true,
  );
  const inWrapper = wrappers.some((name) => (VIEW_ONCE_WRAPPERS as readonly string[]).includes(name));
  const empty = VIEW_ONCE_WRAPPERS.some((name) => message[name]);
  return marked || empty || (inWrapper && MEDIA.some((name) => message[name]));
}

/** What is kept of a file that may be seen once: that there was one. */
export const seenOnce = (): proto.IMessage => ({ viewOnceMessage: {} });

/** What a person reads of a message, cleaned; empty when there is nothing to read. */
export function textOf(message: proto.IMessage): string {
  const shown = shownOf(message);
  return sanitiseText(typeof shown === 'string' ? shown : '');
}

/** The answer to a message that nothing can be made of; null where there is nothing to say. */
export function answerTo(message: proto.IMessage): Unread | null {
  const shown = shownOf(message);
  if (shown !== null && typeof shown === 'object') return shown.say;
  return kindsOf(message).length === 0 ? 'kind.unknown' : null;
}

/** Whether somebody else than its sender wrote the text of a message. */
export const isShared = (message: proto.IMessage): boolean => kindsOf(message).some((kind) => SHARED.has(kind));

/** Parts that come with a message of any kind. */
const CARRIERS: ReadonlySet<string> = new Set(['senderKeyDistributionMessage', 'messageContextInfo']);

/** The kinds that a message has, without what comes with each. */
export const kindsOf = (message: proto.IMessage): Array<keyof proto.IMessage> =>
  Object.entries(message).flatMap(([kind, part]) =>
    part === null || part === undefined || CARRIERS.has(kind) ? [] : (kind as keyof proto.IMessage),
  );

/** Of the first part that says something. */
function shownOf(message: proto.IMessage): Exclude<Shown, undefined> {
  let shown: Exclude<Shown, undefined> = null;
  for (const kind of kindsOf(message)) {
    const read = KINDS[kind] as ((part: unknown) => Shown) | undefined;
    shown ??= read?.(message[kind]) ?? null;
  }
  return shown;
}

function timeOf(ms: unknown): string {
  const time = new Date(Number(ms ?? 0));
  return Number(ms) > 0 && !Number.isNaN(time.getTime())
    ? `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
    : '';
}

function contactLine(contact: proto.Message.IContactMessage): string {
  const numbers = [
    ...(contact.vcard ?? '')
      .slice(0, 10_000)
      .matchAll(/(?<=^|\n)(?:item\d{1,3}\.)?(?:TEL|EMAIL)[^:\n]{0,200}:([^\n]+)/gi),
  ].map((match) => match[1]!.trim());
  return `[contact: ${[sanitiseText(contact.displayName ?? ''), ...numbers.slice(0, 5)].filter(Boolean).join(', ')}]`;
}
