import { samePerson } from '../../../../domain/whatsapp/identity.ts';
import { findContact } from '../../../../store/whatsapp/contacts.ts';
import { authorsOfTurn } from '../../../../store/whatsapp/inbox.ts';
import type { Approver } from '../../../intake/intake.ts';
import type { WhatsAppDeps } from '../live.ts';
import type { Incoming } from './decode.ts';

/**
 * The role of a group message's author in a turn: the owner, or one of the authors who began it, under either address.
 */
export const approverOf =
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
