import { DAY, HOUR } from '../../../../domain/time.ts';
import { readAccount, tellElsewhere } from '../../../../store/whatsapp/account.ts';
import type { OnOpen, WhatsAppDeps } from '../live.ts';

const WARN_DAYS = 10;
const UNLINK_DAYS = 14;

/**
 * Warns, once for each period, when the phone was not used for long: WhatsApp then unlinks its devices, and cannot be
 * asked about it.
 */
export function warnOfIdlePhone({ db, account, log }: WhatsAppDeps): OnOpen {
  return () => {
    const look = async (): Promise<void> => {
      const seen = (await readAccount(db, account))?.phone_seen_at;
      const days = seen ? Math.floor((Date.now() - seen.getTime()) / DAY) : 0;
      if (!seen || days < WARN_DAYS) return;
      const left = Math.max(0, UNLINK_DAYS - days);
      const text = `WhatsApp on the phone was not seen in use for ${days} days. In about ${left} days it unlinks this device; opening WhatsApp on the phone prevents that.`;
      await tellElsewhere(db, account, `phone-${seen.getTime()}`, text, true);
    };
    const check = () =>
      void look().catch((error: Error) =>
        log.warn({ reason: error.message }, 'could not look when the phone was last seen'),
      );
    check();
    const timer = setInterval(check, HOUR);
    return () => clearInterval(timer);
  };
}
