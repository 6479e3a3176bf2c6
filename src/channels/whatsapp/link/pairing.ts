import { randomBytes } from 'node:crypto';
import type { AuthenticationCreds, WASocket } from '@whiskeysockets/baileys';

/** What a person has to do to link this device; both null when there is nothing (any more). */
export interface PairingShow {
  /** text of the QR */
  qr: string | null;
  /** eight characters to type on the phone */
  code: string | null;
}

const ADV_FIELD = 3;

/**
 * Follows the pairing of an unpaired socket: each new QR is shown in place of the last, or, with a phone number, one pairing
 * code. The advertisement secret can be withdrawn by the server (`companion_reg_refresh`, unknown to Baileys): then a new one
 * is made, and every QR from then on carries it.
 */
export function followPairing(
  sock: WASocket,
  options: { creds: AuthenticationCreds; phone: string | null; show(shown: PairingShow): void; failed(error: Error): void },
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
          `WhatsApp refused a pairing code for this number (${`${error.attrs.code} ${error.attrs.text ?? ''}`.trim()}). Is it the number of a WhatsApp account? Wait some minutes, or scan a QR: fetch pair`,
        ),
      );
  });

  sock.ws.on('CB:notification,type:companion_reg_refresh', () => {
    // a pairing code agrees on a secret of its own
    if (phone !== null || creds.account) return;
    creds.advSecretKey = randomBytes(32).toString('base64');
    if (shown) showQr(shown);
  });
}

/** The QR's text with another advertisement secret: Baileys captured the first one for all its later QRs. */
export function withSecret(qr: string, secret: string): string {
  const fields = qr.split(',');
  if (fields.length <= ADV_FIELD) return qr;
  fields[ADV_FIELD] = secret;
  return fields.join(',');
}
