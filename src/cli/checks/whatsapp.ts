import type { Config } from '../../config.ts';
import { DAY } from '../../domain/time.ts';
import { whatsappClientOf } from '../setup/whatsapp/whatsapp-client.ts';
import type { Finding } from './finding.ts';

/** WhatsApp logs linked devices out when the phone was unused for 14 days. */
const WARN_DAYS = 10;

/** The state of the WhatsApp channel, from the running instance, with what a person must do. */
export async function whatsappFinding(config: Config): Promise<Finding> {
  const name = 'whatsapp';
  const finding = (state: Finding['state'], detail: string, mend: string | null = null): Finding => ({
    name,
    state,
    version: null,
    detail,
    mend,
  });
  if (config.WA_WEB_SOCKET_URL?.startsWith('ws:') && !config.WA_ALLOW_INSECURE)
    return finding(
      'missing',
      'WA_WEB_SOCKET_URL is a ws: address, which is refused: everything on it can be read on the way',
      'use wss:, or unset WA_WEB_SOCKET_URL',
    );
  let view: Awaited<ReturnType<Awaited<ReturnType<typeof whatsappClientOf>>['view']>>;
  try {
    view = await (await whatsappClientOf(config)).view();
  } catch {
    return finding('ok', 'optional; its state is known while Fetch runs');
  }
  if (view.needs === 'pairing') return finding('warning', view.lastError ?? 'not linked', 'fetch pair');
  if (view.needs === 'upgrade')
    return finding(
      'missing',
      view.lastError ?? 'this version is refused',
      'upgrade, or set WA_VERSION to a newer version of WhatsApp Web',
    );
  if (view.needs !== null || view.state === 'error')
    return finding(
      'missing',
      view.lastError ?? 'something needs you',
      'look at WhatsApp on the phone, then: fetch pair',
    );
  if (view.wanted !== 'on')
    return finding(
      'ok',
      view.phone
        ? 'linked, and switched off (fetch pair switches it on)'
        : 'optional; not linked (fetch pair links it)',
    );
  if (view.state !== 'authenticated')
    return finding(
      'warning',
      view.lastError ?? `${view.state.replace('_', ' ')}`,
      'wait a moment; fetch logs gateway tells more',
    );
  if (view.lastError)
    return finding(
      'warning',
      view.lastError,
      'look at WhatsApp on the phone; it goes on by itself, and at once after POST /api/whatsapp/restart',
    );
  const unusedDays = view.phoneSeenAt ? Math.floor((Date.now() - Date.parse(view.phoneSeenAt)) / DAY) : 0;
  if (unusedDays >= WARN_DAYS)
    return finding(
      'warning',
      `the phone was not seen for ${unusedDays} days; after 14 without use WhatsApp unlinks this device`,
      'open WhatsApp on the phone',
    );
  return finding('ok', `linked, ${view.number} number, connected since ${view.connectedAt}`);
}
