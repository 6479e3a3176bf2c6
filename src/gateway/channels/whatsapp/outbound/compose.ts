import { sayIn } from '../../../../domain/texts/say.ts';
import type { Asked, OutgoingRow } from '../../../../store/chats/messages/outgoing.ts';
import type { Counters } from '../../../../store/whatsapp/sends.ts';
import { ageNote, approvalText, escapeMarkdown, leadOf } from '../../shared/asking.ts';
import { type Attached, takeAttachments } from '../../shared/markdown.ts';
import { toWhatsApp } from '../text/markup.ts';
import { asFile, formatReply, splitText } from '../text/split.ts';

/**
 * One message, before it becomes a WhatsApp message. `asks`: a reaction to it, a quote of it or a vote in it answers
 * the question.
 */
export type Part = { asks: boolean } & (
  | { kind: 'text'; text: string }
  | { kind: 'poll'; name: string; options: string[] }
  | { kind: 'file'; name: string; mime: string; data: Buffer; caption: string }
  | { kind: 'attachment'; attached: Attached }
);

export interface Writing {
  row: Pick<OutgoingRow, 'kind' | 'body' | 'question' | 'language'>;
  /** how long the message waited */
  ageMs: number;
  textLimit: number;
  polls: boolean;
  /** send a long text as messages, because its file could not be uploaded */
  noFiles?: boolean;
  /** on a shared number: who writes, because it is not the owner of the number */
  name?: string | null;
}

/**
 * A longer text becomes a file: nobody reads so many messages on a phone, and WhatsApp takes a flood of them for spam.
 */
const MOST_MESSAGES = 5;
/** Characters of the description above a file. */
const CAPTION = 700;
/** WhatsApp's own limits of a poll. */
const POLL = { name: 255, options: 12, option: 100 };

/** The messages of an outbox row, in order, and what formatting changed. At least one. */
export function write(writing: Writing): { parts: Part[]; counters: Counters } {
  const { name } = writing;
  if (!name) return compose(writing);
  const { parts, counters } = compose({ ...writing, textLimit: writing.textLimit - `${name}: `.length });
  return { parts: parts.map((part, at) => (at === 0 ? signed(part, name) : part)), counters };
}

/** The message with the name of who writes it. */
function signed(part: Part, name: string): Part {
  if (part.kind === 'text') return { ...part, text: `${name}: ${part.text}` };
  if (part.kind === 'poll') return { ...part, name: `${name}: ${part.name}`.slice(0, POLL.name) };
  if (part.kind === 'file') return { ...part, caption: `${name}: ${part.caption}` };
  const { attached } = part;
  return { ...part, attached: { ...attached, caption: `${name}: ${attached.caption}`.trim() } };
}

function compose(writing: Writing): { parts: Part[]; counters: Counters } {
  const { row, ageMs } = writing;
  const note = ageNote(ageMs, 'WhatsApp');
  const lead = [...(note ? [note] : []), ...(row.question ? leadOf(row.question, sayIn(row.language)) : [])];
  return row.question ? writeQuestion(writing, row.question, lead) : writeText(writing, row.body, lead, []);
}

/** The text of a progress report. It must fit one message, because it replaces another. */
export function writeProgress(writing: Writing): string {
  const name = writing.name ? `${writing.name}: ` : '';
  return name + (formatReply(writing.row.body, writing.textLimit - name.length).parts[0] ?? '…');
}

function writeQuestion(writing: Writing, question: Asked, lead: string[]): { parts: Part[]; counters: Counters } {
  const say = sayIn(writing.row.language);
  if (question.isWhole)
    return asking(writeText(writing, writing.row.body, question.again === 'reminder' ? lead.slice(0, -1) : lead, []));
  if (question.kind === 'approval') {
    const answers =
      question.rest > 0 ? [say('answer.more'), say('answer.approval')] : [say('answer.approval'), say('answer.thumbs')];
    return asking(writeText(writing, approvalText(question), lead, [answers.join(' ')]));
  }
  const { options } = question;
  const prompt = question.number > 1 ? `${question.number}. ${question.prompt}` : question.prompt;
  if (options.length === 0) return asking(writeText(writing, prompt, lead, []));
  if (!writing.polls || question.again !== null || !fitsPoll(options)) {
    return asking(
      writeText(writing, prompt, lead, [
        options.map((option, index) => `${index + 1}. ${verbatim(option)}`).join('\n'),
      ]),
    );
  }
  // a poll shows no markup and cuts its name
  const name = lead.length === 0 && prompt.length <= POLL.name ? prompt : null;
  const said =
    name === null
      ? writeText(writing, prompt, lead, [])
      : { parts: [], counters: { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 } };
  return asking({
    parts: [...said.parts, { kind: 'poll', name: name ?? say('answer.poll'), options, asks: true }],
    counters: said.counters,
  });
}

const asking = ({ parts, counters }: ReturnType<typeof write>) => ({
  parts: parts.map((part) => ({ ...part, asks: true })),
  counters,
});

const fitsPoll = (options: readonly string[]): boolean =>
  options.length >= 2 &&
  options.length <= POLL.options &&
  options.every((option) => option.length <= POLL.option) &&
  new Set(options.map((option) => option.trim())).size === options.length;

/** A text as it is, in markup that shows it so. */
const verbatim = (text: string): string => toWhatsApp(escapeMarkdown(text));

/**
 * A text as messages or, above the limit, as a file; `lead` comes before and `closing` after it, as separate
 * paragraphs.
 */
function writeText(
  writing: Writing,
  body: string,
  lead: string[],
  closing: string[],
): { parts: Part[]; counters: Counters } {
  const say = sayIn(writing.row.language);
  const { markdown, attached } = takeAttachments(body);
  const before = lead.map((line) => `${line}\n\n`).join('');
  const files: Part[] = attached.map((each) => ({ kind: 'attachment', attached: each, asks: false }));
  const text = (each: string): Part => ({ kind: 'text', text: each, asks: false });

  if (!writing.noFiles && asFile(markdown, writing.textLimit * MOST_MESSAGES)) {
    // only the beginning is formatted, because formatting megabytes would block the process
    const { parts, counters } = formatReply(markdown.slice(0, CAPTION * 3).toWellFormed(), CAPTION);
    const note = say('long.file');
    const caption = [`${before}${(parts[0] ?? '').trimEnd()} …`, note, ...closing].join('\n\n');
    const file: Part = {
      kind: 'file',
      name: 'answer.txt',
      mime: 'text/plain',
      data: Buffer.from(markdown),
      caption,
      asks: false,
    };
    return { parts: [file, ...files], counters: { ...counters, chunkedCount: 0, fallbackSplitCount: 0 } };
  }
  const { parts, counters } = formatReply(markdown, Math.max(100, writing.textLimit - before.length));
  const texts =
    parts.length > 0
      ? [before + parts[0], ...parts.slice(1)]
      : before || closing.length > 0 || files.length === 0
        ? [before.trimEnd()]
        : [];
  for (const end of closing.flatMap((each) => splitText(each, writing.textLimit))) {
    const last = texts.at(-1)!;
    const joined = last === '' ? end : `${last.trimEnd()}\n\n${end}`;
    if (joined.length <= writing.textLimit) texts[texts.length - 1] = joined;
    else texts.push(end);
  }
  return { parts: [...texts.map((each) => text(each === '' ? say('sent.empty') : each)), ...files], counters };
}
