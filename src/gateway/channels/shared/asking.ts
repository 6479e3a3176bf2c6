import { visible } from '../../../domain/text/evidence.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { whereOf } from '../../../domain/texts/where.ts';
import { ago, HOUR } from '../../../domain/time.ts';
import type { Asked } from '../../../store/chats/messages/outgoing.ts';

/** Notes around a message, on every channel that sends messages. */

/** What comes before a question that is asked again. */
export const leadOf = ({ again }: Pick<Asked, 'again'>, say: Say): string[] =>
  again === null
    ? []
    : [
        again === 'reminder'
          ? say('answer.waiting')
          : say('answer.elsewhere', { where: whereOf(again.firstAskedOn, say) }),
      ];

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
