import type { WhatsAppView } from '../../contracts/whatsapp.ts';
import type { WaAccount } from '../../store/whatsapp/account.ts';

const NOT_PAIRED = 'WhatsApp is not paired yet; the terminal and HTTP channels work without it.';
const GATEWAY_AWAY = 'The gateway does not run at the moment; it connects by itself when it is back.';
/** A lease is renewed every two seconds. If one ended this long ago, its gateway is gone. */
const AWAY_MS = 5_000;

/** The account as stored, corrected when the gateway that wrote it is gone. */
export function viewOf(row: WaAccount | null, now = Date.now()): WhatsAppView {
  if (!row) {
    const none = {
      qr: null,
      pairingCode: null,
      needs: null,
      phone: null,
      number: null,
      connectedAt: null,
      phoneSeenAt: null,
      sendsPausedUntil: null,
    };
    return { state: 'disconnected', wanted: 'off', lastError: NOT_PAIRED, ...none };
  }
  const busy = row.state === 'authenticated' || row.state === 'qr_pending';
  const away = busy && (row.lease_until === null || row.lease_until.getTime() + AWAY_MS < now);
  const pausedUntil = row.sends_paused_until && row.sends_paused_until.getTime() > now ? row.sends_paused_until : null;
  const paused = pausedUntil && row.sends_paused_why;
  const state = away ? (row.wanted === 'off' ? 'disconnected' : 'initializing') : row.state;
  return {
    state,
    wanted: row.wanted,
    qr: state === 'qr_pending' ? row.qr : null,
    pairingCode: state === 'qr_pending' ? row.pairing_code : null,
    lastError: away ? GATEWAY_AWAY : (row.last_error ?? paused ?? (row.jid || row.wanted === 'on' ? null : NOT_PAIRED)),
    needs: row.needs as WhatsAppView['needs'],
    phone: row.jid?.split('@')[0] ?? null,
    number: row.number_mode,
    connectedAt: row.connected_at?.toISOString() ?? null,
    phoneSeenAt: row.phone_seen_at?.toISOString() ?? null,
    sendsPausedUntil: pausedUntil?.toISOString() ?? null,
  };
}
