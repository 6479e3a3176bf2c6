import type { Identity } from '../../../../contracts/decision.ts';
import { OLD_AFTER_MS } from '../../../../domain/chat/burst.ts';
import { samePerson } from '../../../../domain/whatsapp/identity.ts';
import { findContact } from '../../../../store/whatsapp/contacts.ts';
import {
  authorsOfTurn,
  type OurMessage,
  ourMessage,
  received,
  type Waiting,
} from '../../../../store/whatsapp/inbox.ts';
import { markAccepted } from '../../../../store/whatsapp/sends.ts';
import type { Approver } from '../../../intake/intake.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { admit } from './admit.ts';
import { decodeRow, type Incoming, type OfOthers } from './decode.ts';
import type { ChatDirectory } from './directory.ts';
import { bothForms, identityOf, type Role, roleIn, type Self } from './identify.ts';

/**
 * The role of a group message's author in a turn: the owner, or one of the authors who began it, under either address.
 */
const approverOf =
  ({ account }: Pick<WhatsAppDeps, 'account'>, { author, key }: Incoming, owner: boolean): Approver =>
  async (tx, turnId) => {
    if (owner) return { owner, asked: false };
    for (const { participant, fromMe } of await authorsOfTurn(tx, account, turnId)) {
      if (fromMe || key.fromMe) {
        if (fromMe && key.fromMe) return { owner, asked: true };
        continue;
      }
      const forms = participant.endsWith('@lid') ? { lid: participant, pn: null } : { lid: null, pn: participant };
      if (samePerson((await findContact(tx, account, forms)) ?? forms, author)) return { owner, asked: true };
    }
    return { owner, asked: false };
  };

/** How long an author waits whose number only WhatsApp knows, until the next attempt. */
const UNKNOWN_MS = 5_000;

/**
 * What the caller does with a row: end it with the verdict, or delay it (`until` in ms since the epoch). Null: it was
 * handled, or is pending in its chat.
 */
export type Sorted = { verdict: string } | { until: number } | null;

/** A message for us, with what is known about it. */
export interface Admitted {
  row: Waiting;
  message: Incoming;
  self: Self;
  role: Role;
  /** the part of its text that is meant for us */
  text: string;
  /** our message that it quotes */
  quoted: OurMessage | undefined;
  /** it quotes what somebody else wrote, or what nobody can tell */
  quotesOthers: boolean;
  /** how the text of somebody else came into the message */
  ofOthers: OfOthers | null;
  address: string;
  /** the author, in a group */
  author: string | null;
  by: Identity;
  approver: Approver | undefined;
  old: boolean;
  /** was delayed before because it was over the limit or its author was unknown, and not after a failure */
  late: boolean;
}

/** The author of a message, and whether it is for us. */
export async function admitted(
  deps: WhatsAppDeps & { live: CurrentLive },
  directory: ChatDirectory,
  row: Waiting,
  message: Incoming,
  self: Self,
): Promise<Admitted | NonNullable<Sorted>> {
  const { db, account, config } = deps;
  const { key, chat } = message;
  const forms = await bothForms(deps, message.author);
  if (!forms) return { until: Date.now() + UNKNOWN_MS };
  message.author = forms;
  const role = roleIn(self.people, forms);
  const quoted = role !== 'stranger' && message.quoted ? await ourMessage(db, account, message.quoted.id) : undefined;
  const echo = key.fromMe && (await ourMessage(db, account, key.messageId)) !== undefined;
  const admission = admit(message, { role, self, echo, quotesUs: quoted !== undefined, trigger: config.FETCH_TRIGGER });
  // WhatsApp shows us our own message, so it has it, even if its ack was lost
  if (echo) await markAccepted(db, account, [key.messageId]);
  if (!admission.admitted) return { verdict: admission.verdict };
  const { address, author } = await directory.placeOf(message);
  const approver = chat.kind === 'group' ? approverOf(deps, message, role === 'owner') : undefined;
  const ours = quoted !== undefined && (quoted.address === address || quoted.address === chat.jid);
  const quotesOthers = message.quoted !== null && !ours && !(await quotesOwn(deps, message, self));
  const old = Date.now() - message.at.getTime() > OLD_AFTER_MS;
  const late = !old && row.notBefore !== null && row.attempts === 0;
  return {
    row,
    message,
    self,
    role,
    text: admission.text,
    quoted,
    quotesOthers,
    ofOthers: message.ofOthers ?? (admission.quotes && quotesOthers ? 'quoted' : null),
    address,
    author,
    by: identityOf(role, forms),
    approver,
    old,
    late,
  };
}

/** Whether a message quotes what its author wrote earlier in the same chat, and not what was only forwarded there. */
async function quotesOwn(deps: WhatsAppDeps & { live: CurrentLive }, by: Incoming, self: Self): Promise<boolean> {
  for (const row of await received(deps.db, deps.account, by.quoted!.id)) {
    if (row.content === null || row.content.length === 0) continue;
    const original = await decodeRow(row, self);
    const author = (await bothForms(deps, original.author)) ?? original.author;
    const samePlace =
      by.chat.kind === 'group' ? original.chat.jid === by.chat.jid : original.chat.kind === by.chat.kind;
    if (samePlace && samePerson(author, by.author)) return original.ofOthers === null;
  }
  return false;
}
