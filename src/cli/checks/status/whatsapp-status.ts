import type { Config } from '../../../config.ts';
import type { DeliveryFigures, WhatsAppReport } from '../../../contracts/whatsapp.ts';
import { whatsappClientOf } from '../../setup/whatsapp/whatsapp-client.ts';

/** WhatsApp as `fetch status --json` shows it; times are RFC 3339 UTC. */
interface WhatsAppStatus extends Pick<WhatsAppReport, 'state' | 'number' | 'sendsPausedUntil' | 'lastError'> {
  /** masked, because people paste the status into reports */
  phone: string | null;
  today: DeliveryFigures;
}

const PATIENCE_MS = 2_000;

/** The state of WhatsApp; null when the running instance does not tell. */
export async function whatsappStatus(config: Config): Promise<WhatsAppStatus | null> {
  try {
    const { state, number, sendsPausedUntil, lastError, phone, today } = await (await whatsappClientOf(config)).view(
      AbortSignal.timeout(PATIENCE_MS),
    );
    return { state, phone: phone && masked(phone), number, sendsPausedUntil, lastError, today };
  } catch {
    return null;
  }
}

/** The first two and the last two digits of a number. */
const masked = (phone: string): string =>
  `+${phone.slice(0, 2)}${'*'.repeat(Math.max(3, phone.length - 4))}${phone.slice(-2)}`;

export function whatsappLines({ state, phone, number, sendsPausedUntil, lastError, today }: WhatsAppStatus): string[] {
  if (phone === null && state === 'disconnected') return ['whatsapp not linked (fetch pair links it)'];
  const { sent, delivered, read, failed } = today;
  return [
    ['whatsapp', state.replace('_', ' '), ...(phone ? [phone, `${number} number`] : [])].join(' '),
    ...(sendsPausedUntil ? [`  nothing is sent until ${sendsPausedUntil}`] : []),
    ...(lastError ? [`  ${lastError}`] : []),
    ...(phone ? [`  sent today: ${read} read, ${delivered} delivered, ${sent} sent, ${failed} failed`] : []),
  ];
}
