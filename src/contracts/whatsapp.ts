/** The account as its row has it. */
export interface WhatsAppView {
  state: 'initializing' | 'qr_pending' | 'authenticated' | 'disconnected' | 'error';
  wanted: 'off' | 'on' | 'out';
  /** text of the QR to scan */
  qr: string | null;
  /** eight characters to type on the phone */
  pairingCode: string | null;
  lastError: string | null;
  /** who must do something */
  needs: 'pairing' | 'person' | 'lease' | 'upgrade' | null;
  /** digits of the linked number */
  phone: string | null;
  number: 'shared' | 'dedicated' | null;
  connectedAt: string | null;
  /** when the phone itself was last active; WhatsApp logs linked devices out after 14 days without it */
  phoneSeenAt: string | null;
  /** WhatsApp restricted what may be sent: replies wait until then */
  sendsPausedUntil: string | null;
}

/** Messages of a period, each counted under its latest known state. */
export interface DeliveryFigures {
  queued: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
}

/** `GET /api/whatsapp`, for clients with the admin token; read by `fetch pair`, `fetch doctor` and `fetch status`. */
export interface WhatsAppReport extends WhatsAppView {
  /** since midnight UTC */
  today: DeliveryFigures;
}

/**
 * Body of `POST /api/whatsapp/start`; every field is optional. `phone`: digits, to get a pairing code in place of a QR.
 */
export interface PairRequest {
  phone?: string | null;
  number?: 'shared' | 'dedicated';
}
