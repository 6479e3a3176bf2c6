import type { Identity } from '../../contracts/decision.ts';
import type { Source } from '../../contracts/taint.ts';
import { unionOf } from '../../domain/consent/taint.ts';
import { saidBy } from '../../domain/text/fences.ts';
import { prefix } from '../../domain/text/storable.ts';
import type { Approver } from '../../intake/intake.ts';
import type { Heard } from '../../store/steps/transcript.ts';
import type { Prepared } from './attachments.ts';

/** A message that is ours to answer, until intake has it. */
export interface PendingMessage {
  /** its place in the order of arrival */
  seq: number;
  /** the channel's own id of it, unique in its chat and over both directions */
  id: string;
  /** address of the chat as the channel's own table has it */
  chat: string;
  /** author in a group, null where there is only one */
  author: string | null;
  /** what the author is called, where somebody has to be */
  name: string | null;
  by: Identity;
  /** what the author may approve in a group */
  approver?: Approver;
  text: string;
  /** text of the message that it quotes */
  quoted: string | null;
  /** it is nothing but text, so it may be a command */
  bare: boolean;
  /** quotes this open question */
  questionId: string | null;
  /** when the channel's server took it */
  sentAt: Date;
  /** the latest moment at which it can have been written */
  writtenAt: Date;
  /** first seen, ms */
  at: number;
  /** too old to be carried out */
  old: boolean;
  /** was over the rate limit: all of them are said together */
  late: boolean;
  /** the messages before it were said without it, because all at once would have been too much */
  rest?: boolean;
  /** null while its file is loaded or listened to */
  prepared: Prepared | null;
  /** gives up loading */
  drop(): void;
}

type ReadableMessage = Pick<PendingMessage, 'author' | 'by' | 'prepared' | 'quoted'>;

/** A message as the model reads it, and whose words it is made of. In a group only those of the owner are the person's. */
export function heardOf({ author, by, prepared, quoted }: ReadableMessage): { text: string; heard: Heard } {
  const words = prepared!.text;
  const text = withQuote(words, quoted);
  if (author === null) return { text, heard: text === words ? {} : { words } };
  const owner = by.role === 'owner';
  const shown = saidBy({ name: author, owner }, text);
  if (!owner) return { text: shown, heard: { sources: [memberSource(author)], words: '' } };
  return { text: shown, heard: { words, ...(text !== words && { sources: [memberSource('a quoted message')] }) } };
}

export const memberSource = (label: string): Source => ({ kind: 'member', label });

/** Of messages that are said together. */
export function heardTogether(all: readonly ReadableMessage[]): Heard {
  const each = all.map((said) => heardOf(said).heard);
  const sources = unionOf(...each.map((heard) => heard.sources ?? []));
  const words = each.map((heard, at) => heard.words ?? all[at]!.prepared!.text).filter((text) => text !== '');
  return { sources, words: words.join('\n') };
}

const QUOTE_CHARS = 300;

/** The text with what it refers to, as the model should read it. Commands and answers stay bare. */
function withQuote(text: string, quoted: string | null): string {
  const said = quoted?.trim();
  if (!said || said === text) return text;
  const shown = said.length > QUOTE_CHARS ? `${prefix(said, QUOTE_CHARS)}…` : said;
  return `${shown.replace(/^/gm, '> ')}\n${text}`;
}
