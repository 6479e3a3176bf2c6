import { addressed } from '../../../../domain/whatsapp/trigger.ts';
import type { Incoming } from './decode.ts';
import type { Role, Self } from './identify.ts';

/** What happens to a message: it ends with a reason (`verdict`), or goes on with the text that is meant for us. */
type Admission =
  | { admitted: true; text: string /** the text is the quoted one */; quotes?: true }
  | { admitted: false; verdict: string };

interface Circumstances {
  role: Role;
  self: Self;
  /** its id is one that we sent */
  echo: boolean;
  /** it quotes a message that we sent */
  quotesUs: boolean;
  trigger: string;
}

const refuse = (verdict: string): Admission => ({ admitted: false, verdict });

/**
 * Whether a message is for us, from somebody who may write to us. Pure. Reactions, votes, edits and deletions need no
 * trigger, because they name their message.
 */
export function admit(message: Incoming, { role, self, echo, quotesUs, trigger }: Circumstances): Admission {
  const { content, chat, key } = message;
  if (content.kind === 'nothing' && content.why !== 'stub') return refuse(content.why);
  if (key.fromMe && echo) return refuse('echo');
  if (role === 'stranger') return refuse(key.fromMe ? 'phone_typed' : 'stranger');
  // what the owner types to others is talk between people, on either kind of number
  const toOthers = key.fromMe && chat.kind !== 'self';
  // without a text nobody knows whether it was for us, so it counts only where everything is for us
  const allForUs = chat.kind === 'self' || (chat.kind === 'direct' && self.number === 'dedicated' && !toOthers);
  if (content.kind === 'nothing') return allForUs ? { admitted: true, text: '' } : refuse('stub');
  if (content.kind === 'album' || content.kind === 'unreadable')
    return allForUs ? { admitted: true, text: '' } : refuse(key.fromMe ? 'owner_typed' : 'not_addressed');
  if (content.kind !== 'text' && content.kind !== 'media') return { admitted: true, text: '' };
  const voice = content.kind === 'media' && content.media.voice;
  const { addressed: isForUs, text } = addressed({
    chat: chat.kind,
    number: toOthers ? 'shared' : self.number,
    mentionsUs: message.mentions.some((jid) => jid === self.jid || jid === self.lid),
    quotesUs,
    text: content.text,
    voice,
    trigger,
  });
  if (!isForUs) return refuse(key.fromMe ? 'owner_typed' : 'not_addressed');
  if (text || content.kind === 'media') return { admitted: true, text };
  // only the trigger: it is about the quoted message, or the person wants to know what this is
  return message.quoted?.text
    ? { admitted: true, text: message.quoted.text, quotes: true }
    : { admitted: true, text: 'help' };
}
