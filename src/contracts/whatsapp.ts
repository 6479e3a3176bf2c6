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
  /** the phone itself was last seen acting; unused for 14 days, WhatsApp logs linked devices out */
  phoneSeenAt: string | null;
  /** WhatsApp restricted what may be sent: replies wait until then */
  sendsPausedUntil: string | null;
}

/** Messages of a time, each under the last that is known of it. */
export interface DeliveryFigures {
  queued: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
}

/** `GET /api/whatsapp`, for clients with the admin token: what `fetch pair`, `fetch doctor` and `fetch status` read. */
export interface WhatsAppReport extends WhatsAppView {
  /** since midnight UTC */
  today: DeliveryFigures;
}

/** Body of `POST /api/whatsapp/start`; all optional. `phone`: digits, for a pairing code in place of a QR. */
export interface PairRequest {
  phone?: string | null;
  number?: 'shared' | 'dedicated';
}
