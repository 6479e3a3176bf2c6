import { createHash } from 'node:crypto';
import { reactionText } from '../../../../domain/consent/reactions.ts';
import { type OurMessage, ourMessage } from '../../../../store/whatsapp/inbox.ts';
import type { WhatsAppDeps } from '../live.ts';
import type { Self } from './admit.ts';
import type { Content, Incoming } from './decode.ts';

/** The question that a reaction or vote decides, and the words of the answer. */
export interface Decision {
  questionId: string;
  /** null: another channel asked it first */
  threadId: string | null;
  text: string;
}
/** A `verdict` when it decides nothing. */
export type Interpretation = Decision | { verdict: string };

/** A reaction to one of our questions, in the chat that was asked. Removing one changes no decision. */
export async function interpretReaction(
  { db, account }: Pick<WhatsAppDeps, 'db' | 'account'>,
  content: Extract<Content, { kind: 'reaction' }>,
  addresses: readonly string[],
): Promise<Interpretation> {
  const asked = await askedBy(await ourMessage(db, account, content.target), addresses);
  if (!asked || content.emoji === '') return { verdict: 'reaction' };
  const text = reactionText(content.emoji, asked.options);
  return text === null ? { verdict: 'reaction' } : { questionId: asked.id, threadId: asked.threadId, text };
}

/** A vote in one of our polls: the chosen options, joined. A withdrawn vote decides nothing. */
export async function interpretVote(
  { db, account, log }: Pick<WhatsAppDeps, 'db' | 'account' | 'log'>,
  message: Incoming,
  content: Extract<Content, { kind: 'vote' }>,
  self: Self,
  addresses: readonly string[],
): Promise<Interpretation> {
  const poll = await ourMessage(db, account, content.poll);
  const asked = await askedBy(poll, addresses);
  if (!poll || !asked) return { verdict: 'vote' };
  const { proto, decryptPollVote, normalizeMessageContent } = await import('@whiskeysockets/baileys');
  const sent = proto.Message.decode(poll.content);
  const secret = sent.messageContextInfo?.messageSecret;
  const body = normalizeMessageContent(sent);
  const shown =
    (body?.pollCreationMessage ?? body?.pollCreationMessageV2 ?? body?.pollCreationMessageV3)?.options ?? [];
  if (!secret) return { verdict: 'vote' };
  // the voter's phone used one form of each address, without saying which
  for (const pollCreatorJid of [self.lid, self.jid]) {
    for (const voterJid of [message.author.lid, message.author.pn]) {
      if (!pollCreatorJid || !voterJid) continue;
      try {
        const vote = decryptPollVote(
          { encPayload: content.encPayload, encIv: content.encIv },
          { pollCreatorJid, pollMsgId: content.poll, pollEncKey: secret, voterJid },
        );
        const chosen = new Set((vote.selectedOptions ?? []).map((hash) => Buffer.from(hash).toString('hex')));
        const names = shown.flatMap((option, index) =>
          // names may have been shortened for the poll; the answer has the question's own words
          chosen.has(sha256(option.optionName ?? ''))
            ? [shown.length === asked.options.length ? asked.options[index]! : (option.optionName ?? '')]
            : [],
        );
        return names.length > 0
          ? { questionId: asked.id, threadId: asked.threadId, text: names.join(', ') }
          : { verdict: 'vote' };
      } catch {
        // the other form
      }
    }
  }
  log.warn('a vote on a poll could not be decrypted; the question stays open and can be answered by text');
  return { verdict: 'vote_unreadable' };
}

/** The question in our message, if it was asked in this chat. */
async function askedBy(our: OurMessage | undefined, addresses: readonly string[]): Promise<OurMessage['question']> {
  return our && addresses.includes(our.address) ? our.question : null;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
