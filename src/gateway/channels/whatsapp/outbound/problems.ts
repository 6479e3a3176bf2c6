import { english, type Told } from '../../../../domain/texts/say.ts';
import { tellElsewhere } from '../../../../store/whatsapp/account.ts';
import { giveUp } from '../../../../store/whatsapp/sends.ts';
import type { WhatsAppDeps } from '../live.ts';

/** Tells the other channels something about sending, once for each `key`. */
export async function tell(
  { db, account, log }: WhatsAppDeps,
  key: string,
  text: Told,
  needsPerson = false,
): Promise<void> {
  log.warn({ key }, text(english));
  await tellElsewhere(db, account, `send-${key}`, text, needsPerson).catch((error) =>
    log.error({ err: error }, 'a problem of WhatsApp could not be told'),
  );
}

/** Gives an outbox row up. */
export async function abandon(deps: WhatsAppDeps, outboxId: string, why: Told, telling = true): Promise<void> {
  await giveUp(deps.db, outboxId, why(english));
  if (telling) await tell(deps, `failed-${outboxId}`, (say) => say('link.givenUp', { because: why(say) }));
}
