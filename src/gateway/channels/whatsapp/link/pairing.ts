import { randomBytes } from 'node:crypto';
import type { AuthenticationCreds, WASocket } from '@whiskeysockets/baileys';

/** Instructions to link this device; both null when there is nothing to do. */
export interface PairingShow {
  /** text of the QR */
  qr: string | null;
  /** eight characters to type on the phone */
  code: string | null;
}

const ADV_FIELD = 3;

/**
 * Follows the pairing of an unpaired socket. Each new QR replaces the last; with a phone number, one pairing code is
 * shown. The server can withdraw the advertisement secret (`companion_reg_refresh`, which Baileys does not know). Then
 * a new secret is made for every later QR.
 */
export function followPairing(
  sock: WASocket,
  options: {
    creds: AuthenticationCreds;
    phone: string | null;
    show(shown: PairingShow): void;
    failed(error: Error): void;
  },
): void {
  const { creds, phone, show, failed } = options;
  let shown: string | null = null;
  let asked = false;

  const showQr = (qr: string): void => {
    shown = qr;
    show({ qr: withSecret(qr, creds.advSecretKey), code: null });
  };

  sock.ev.on('connection.update', ({ qr, isNewLogin }) => {
    if (isNewLogin) {
      shown = null;
      return show({ qr: null, code: null });
    }
    if (!qr) return;
    if (phone === null) return showQr(qr);
    if (asked) return;
    asked = true;
    sock.requestPairingCode(phone).then((code) => show({ qr: null, code }), failed);
  });

  // the server refuses a number in the answer to the request, which Baileys does not wait for
  sock.ws.on('CB:iq,type:error', (node: { content?: Array<{ tag: string; attrs: Record<string, string> }> }) => {
    const error = Array.isArray(node.content) ? node.content.find((child) => child.tag === 'error') : undefined;
    if (phone !== null && asked && error && !creds.account)
      failed(
        new Error(
          `WhatsApp refused a pairing code for this number (${`${error.attrs.code} ${error.attrs.text ?? ''}`.trim()}). Is it the number of a WhatsApp account? Wait some minutes, or scan a QR.`,
        ),
      );
  });

  sock.ws.on('CB:notification,type:companion_reg_refresh', () => {
    // a pairing code agrees on its own secret
    if (phone !== null || creds.account) return;
    creds.advSecretKey = randomBytes(32).toString('base64');
    if (shown) showQr(shown);
  });
}

/** The QR's text with another advertisement secret, because Baileys keeps the first one for all later QRs. */
export function withSecret(qr: string, secret: string): string {
  const fields = qr.split(',');
  if (fields.length <= ADV_FIELD) return qr;
  fields[ADV_FIELD] = secret;
  return fields.join(',');
}
