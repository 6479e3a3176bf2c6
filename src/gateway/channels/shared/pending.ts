import type { Identity } from '../../../contracts/decision.ts';
import type { Source } from '../../../contracts/taint.ts';
import { parseCommand } from '../../../domain/chat/words/commands.ts';
import { unionOf } from '../../../domain/consent/taint.ts';
import { quotation, saidBy } from '../../../domain/text/foreign-text.ts';
import { prefix } from '../../../domain/text/storable.ts';
import type { Heard } from '../../../store/turns/steps/transcript.ts';
import type { Prepared } from '../../intake/attachments.ts';
import type { Approver } from '../../intake/intake.ts';

/** A message for us, until intake has it. */
export interface PendingMessage {
  /** its place in the order of arrival */
  seq: number;
  /** the channel's own id, unique in its chat and over both directions */
  id: string;
  /** address of the chat in the channel's own table */
  chat: string;
  /** the author in a group; null when there is only one person */
  author: string | null;
  /** name of the author, where one is needed */
  name: string | null;
  by: Identity;
  /** what the author may approve in a group */
  approver?: Approver;
  text: string;
  /** text of the quoted message */
  quoted: string | null;
  /** the quoted message is not known to be the author's or ours */
  quotesOthers: boolean;
  /** how the text of somebody else came into the message ("forwarded"); null when the author wrote it */
  ofOthers: string | null;
  /** only text that its author wrote, so it may be a command */
  bare: boolean;
  /** it only announces so many pictures and videos, which follow */
  announces: number | null;
  /** the channel's id of the message that announced it, or null */
  album: string | null;
  /** a picture or video, which may belong to an album */
  pictured: boolean;
  /** its file takes long, so the messages after it do not wait for it */
  apart: boolean;
  /** quotes this open question */
  questionId: string | null;
  /** quotes another message */
  elsewhere: boolean;
  /** when the channel's server received it */
  sentAt: Date;
  /** the latest time at which it can have been written */
  writtenAt: Date;
  /** first seen, ms */
  at: number;
  /** too old to be carried out */
  old: boolean;
  /** was over the rate limit: all such messages are passed on together */
  late: boolean;
  /** the messages before it were passed on without it, because all at once would have been too much */
  rest?: boolean;
  /** null while its file is loaded or listened to */
  prepared: Prepared | null;
  /** cancels loading */
  drop(): void;
}

/** The label of text that somebody else wrote, such as `a forwarded message`. */
export const labelOf = (ofOthers: string): string =>
  ofOthers.startsWith('from ') ? 'a message of another bot' : `a ${ofOthers.split(' ')[0]} message`;

type ReadableMessage = Pick<PendingMessage, 'author' | 'by' | 'prepared' | 'quoted' | 'quotesOthers' | 'ofOthers'>;

/** A message as the model reads it, and whose words it has. In a group only the owner's words count as the person's. */
export function heardOf(message: ReadableMessage): { text: string; heard: Heard } {
  const { author, by, prepared, quoted, quotesOthers, ofOthers } = message;
  const said = saidIn(message);
  const text = withQuote(said, quoted);
  const quotes = text !== said;
  const words = ofOthers === null ? prepared!.text : '';
  const sources = [
    ...(ofOthers === null ? [] : [memberSource(labelOf(ofOthers))]),
    ...(quotes && (quotesOthers || author !== null) ? [memberSource('a quoted message')] : []),
  ];
  const heard = { words, ...(sources.length > 0 && { sources }) };
  if (author === null) return { text, heard: text === words ? {} : heard };
  const owner = by.role === 'owner';
  const shown = saidBy({ name: author, owner }, text);
  return { text: shown, heard: owner ? heard : { sources: [memberSource(author)], words: '' } };
}

/** The text of a message, with a note where somebody else wrote it. */
export const saidIn = ({ ofOthers, prepared }: Pick<PendingMessage, 'ofOthers' | 'prepared'>): string =>
  ofOthers === null || prepared!.text === ''
    ? prepared!.text
    : `[${ofOthers[0]!.toUpperCase()}${ofOthers.slice(1)}; somebody else wrote this:]\n${quotation(prepared!.text)}`;

export const memberSource = (label: string): Source => ({ kind: 'member', label });

/** The same for messages that are passed on together. */
export function heardTogether(all: readonly ReadableMessage[]): Heard {
  const each = all.map((said) => heardOf(said).heard);
  const sources = unionOf(...each.map((heard) => heard.sources ?? []));
  const words = each.map((heard, at) => heard.words ?? all[at]!.prepared!.text).filter((text) => text !== '');
  return { sources, words: words.join('\n') };
}

const QUOTE_CHARS = 300;

/** The text with its quote, as the model reads it. Commands and answers are read without the quote. */
function withQuote(text: string, quoted: string | null): string {
  const said = quoted?.trim();
  if (!said || said === text) return text;
  const shown = said.length > QUOTE_CHARS ? `${prefix(said, QUOTE_CHARS)}…` : said;
  return `${shown.replace(/^/gm, '> ')}\n${text}`;
}

/** A phone uploads the pictures of an album one after the other. After this long without another, none is waited for. */
const ALBUM_QUIET_MS = 20_000;

/** The pictures that belong to an announced album. Older phones do not name it, so whatever follows it counts. */
const picturesOf = (album: PendingMessage, all: readonly PendingMessage[]): PendingMessage[] =>
  all.filter(
    (each) =>
      each.pictured &&
      each.author === album.author &&
      (each.album === album.album || (each.album === null && each.seq > album.seq)),
  );

/** Whether a message announced an album of which nothing has come. */
export const isBareAlbum = (message: PendingMessage, all: readonly PendingMessage[]): boolean =>
  message.announces !== null && picturesOf(message, all).length === 0;

/** Whether the albums that are announced in `run` are here, as far as they will come. `all`: what the chat has. */
export function hasAllOfAlbums(run: readonly PendingMessage[], all: readonly PendingMessage[], now: number): boolean {
  return run.every((album) => {
    if (album.announces === null) return true;
    const pictures = picturesOf(album, all);
    const newest = pictures.reduce((latest, each) => Math.max(latest, each.at), album.at);
    // a time in the future means that the clock was set back
    return pictures.length >= album.announces || now - newest >= ALBUM_QUIET_MS || newest > now + ALBUM_QUIET_MS;
  });
}

/** What the model is told of albums of which something is missing. */
export const albumNotes = (albums: readonly PendingMessage[], said: readonly PendingMessage[]): string[] =>
  albums.flatMap((album) => {
    const came = picturesOf(album, said).length;
    return came < album.announces!
      ? [`[Of an album of ${album.announces} pictures and videos, ${came} arrived with this message.]`]
      : [];
  });

/** The messages with their pictures numbered, where there are several. */
export function numbered(said: readonly PendingMessage[]): readonly PendingMessage[] {
  const ends = /\[picture(?=, [\d.]+ [kM]B\]$)/;
  if (said.filter(({ prepared }) => ends.test(prepared!.text)).length < 2) return said;
  let number = 0;
  return said.map((each) => {
    const text = each.prepared!.text.replace(ends, (begin) => `${begin} ${++number}`);
    return { ...each, prepared: { ...each.prepared!, text } };
  });
}

/** A message of ours that somebody quotes: its chat, and the question that it asks. */
interface QuotedMessage {
  address: string;
  question: { id: string; open: boolean } | null;
}

/** The open question that a quote answers. Words such as "stop" keep their meaning in a quote. */
export function questionOf(quoted: QuotedMessage | undefined, address: string, text: string): string | null {
  const command = parseCommand(text);
  if (
    !quoted?.question?.open ||
    quoted.address !== address ||
    command === 'stop' ||
    command === 'status' ||
    command === 'help'
  )
    return null;
  return quoted.question.id;
}
