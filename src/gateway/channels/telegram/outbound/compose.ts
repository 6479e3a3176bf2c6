import type { InlineKeyboardMarkup } from '@grammyjs/types';
import { capabilitiesOf } from '../../../../contracts/channels.ts';
import { ALWAYS_HERE, offersRule } from '../../../../domain/consent/kinds.ts';
import { type Say, sayIn } from '../../../../domain/texts/say.ts';
import type { Asked, OutgoingRow } from '../../../../store/chats/messages/outgoing.ts';
import { ageNote, approvalText, escapeMarkdown, leadOf } from '../../shared/asking.ts';
import { type Attached, takeAttachments } from '../../shared/markdown.ts';
import { cutFormatted, type Formatted, formatted } from './entities.ts';

/** One message before it is sent, as it is stored. */
export type Part = { asks: boolean } & (
  | ({ kind: 'text'; buttons?: InlineKeyboardMarkup } & Formatted)
  /** the whole text of the outbox row, as a file */
  | { kind: 'whole'; caption: Formatted }
  | { kind: 'attachment'; attached: Attached }
);

/** UTF-16 units of a message, and of the description of a file. */
const TEXT = 4096;
const CAPTION = 1024;
/** A longer text becomes a file: nobody reads so many messages on a phone. */
const MOST_MESSAGES = 5;
/** A longer text would not be read on a button, and more of them not be found. */
const BUTTON = 60;
const MOST_BUTTONS = 10;

/** The data of a button: the question, and the place of the answer among those that it offers. */
const pressOf = (questionId: string, place: number): string => `${questionId}/${place}`;

/** The answers that the buttons of a question stand for, in their order. */
export function offeredBy({
  kind,
  options,
  prompt,
  rest = 0,
}: Pick<Asked, 'kind' | 'options' | 'prompt'> & { rest?: number }): string[] {
  if (kind === 'question') return options;
  const always = kind === 'approval' && offersRule(prompt) ? [ALWAYS_HERE] : [];
  return ['yes', 'no', ...always, ...(rest > 0 ? ['more'] : [])];
}

/** The messages of an outbox row, in order. At least one. */
export function write(row: Pick<OutgoingRow, 'kind' | 'body' | 'question' | 'language'>, ageMs: number): Part[] {
  const { question, body } = row;
  const say = sayIn(row.language);
  const note = ageNote(ageMs, capabilitiesOf('telegram').label);
  const lead = note ? [note] : [];
  if (!question) return writeText(body, lead, [], say);
  const parts = writeText(...questionText(question, body, lead, say));
  const buttons = buttonsOf(question, say);
  return parts.map((part, at) => ({
    ...part,
    asks: true,
    ...(at === parts.length - 1 && part.kind === 'text' && buttons && { buttons }),
  }));
}

/** The text of a progress report. It must fit one message, because it replaces another. */
export const writeProgress = (body: string): Formatted =>
  cutFormatted(formatted(body), TEXT)[0] ?? { text: '…', entities: [] };

function questionText(question: Asked, body: string, lead: string[], say: Say): Parameters<typeof writeText> {
  const begin = [...lead, ...leadOf(question, say)];
  if (question.isWhole) return [body, question.again === 'reminder' ? lead : begin, [], say];
  if (question.kind === 'approval') {
    const more = question.rest > 0 ? [say('answer.more')] : [];
    return [approvalText(question), begin, [[...more, say('answer.approval')].join(' ')], say];
  }
  const prompt = question.number > 1 ? `${question.number}. ${question.prompt}` : question.prompt;
  const listed = question.options.map((option, at) => `${at + 1}\\. ${escapeMarkdown(option)}`).join('\\\n');
  return [prompt, begin, listed === '' ? [] : [listed], say];
}

function buttonsOf(question: Asked, say: Say): InlineKeyboardMarkup | undefined {
  const answers = offeredBy(question);
  if (answers.length === 0 || answers.length > MOST_BUTTONS) return undefined;
  const buttons = answers.map((answer, place) => ({
    text: labelOf(question.kind === 'question' ? answer : capital(LABELS[answer] ? say(LABELS[answer]) : answer)),
    callback_data: pressOf(question.id, place),
  }));
  // Telegram refuses the whole message for one that is longer
  if (buttons.some(({ callback_data }) => Buffer.byteLength(callback_data) > 64)) return undefined;
  return { inline_keyboard: question.kind === 'question' ? buttons.map((button) => [button]) : [buttons] };
}

/** An answer is a word of English wherever it is shown. */
const LABELS: Readonly<Record<string, 'button.yes' | 'button.no' | 'button.more'>> = {
  yes: 'button.yes',
  no: 'button.no',
  more: 'button.more',
};

const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

const labelOf = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim().toWellFormed() || '…';
  return line.length > BUTTON ? `${line.slice(0, BUTTON - 1).replace(/[\ud800-\udbff]$/, '')}…` : line;
};

/** A text as messages or, when it is too long, as a file; `lead` comes before and `closing` after it. */
function writeText(body: string, lead: string[], closing: string[], say: Say): Part[] {
  const { markdown, attached } = takeAttachments(body);
  const files: Part[] = attached.map((each) => ({ kind: 'attachment', attached: each, asks: false }));
  if (markdown.length > TEXT * MOST_MESSAGES) {
    // only the beginning is formatted, because formatting megabytes would block the process
    const [begin] = cutFormatted(formatted([...lead, markdown.slice(0, CAPTION * 2)].join('\n\n')), CAPTION - 400);
    const end = formatted(['…', say('long.file'), ...closing].join('\n\n'));
    const caption = begin ? { text: `${begin.text}\n${end.text}`, entities: begin.entities } : end;
    return [{ kind: 'whole', caption, asks: false }, ...files];
  }
  const whole = formatted([...lead, markdown, ...closing].filter((text) => text !== '').join('\n\n'));
  const texts = cutFormatted(whole, TEXT);
  if (texts.length === 0 && files.length === 0) texts.push({ text: say('sent.empty'), entities: [] });
  return [...texts.map((text): Part => ({ kind: 'text', asks: false, ...text })), ...files];
}
