import { visible } from '../../../domain/text/evidence.ts';
import { ago, HOUR } from '../../../domain/time.ts';
import type { Asked } from '../../../store/chats/messages/outgoing.ts';
import { APPROVAL_ANSWERS } from '../../../store/turns/questions/question-text.ts';

/** Notes around a message, on every channel that sends messages. */

export const FILE_NOTE = 'The whole text is in the file.';
export const BEGINNING = `This is the beginning. Say "more" to read on. ${APPROVAL_ANSWERS}`;
const REMINDER = 'I am still waiting for your answer:';

/** What comes before a question that is asked again. */
export const leadOf = ({ again }: Pick<Asked, 'again'>): string[] =>
  again === null
    ? []
    : [again === 'reminder' ? REMINDER : `(Asked on ${again.firstAskedOn}. You can answer here, too.)`];

/** The note on a reply that waited for its channel; null up to an hour. */
export function ageNote(ms: number, label: string): string | null {
  return ms > HOUR ? `(written ${ago(ms)}, while ${label} was away)` : null;
}

/** The question, and what it is decided by. Nothing in it is markup, and the evidence cannot end its fence. */
export function approvalText({ prompt, number, evidence }: Asked): string {
  const asked = escapeMarkdown(visible(number > 1 ? `${number}. ${prompt}` : prompt));
  return evidence ? `${asked}\n\n\`\`\`\n${evidence.replace(/\n$/, '')}\n\`\`\`` : asked;
}

export const escapeMarkdown = (text: string): string => text.replace(/[!-/:-@[-`{-~]/g, '\\$&');
