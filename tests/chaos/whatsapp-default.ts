import { readFileSync } from 'node:fs';
import { Agent as HttpsAgent } from 'node:https';
import { parseArgs } from 'node:util';
import {
  type ConnectionState,
  DisconnectReason,
  makeWASocket,
  useMultiFileAuthState,
  WA_CERT_DETAILS,
  type WAMessage,
} from '@whiskeysockets/baileys';
import { pino } from 'pino';
import { scriptedStep } from '../../src/adapters/model/practice/script.ts';

// The library as its documentation shows it: credentials in files, an event handler that answers, a new socket after
// each close. It is asked for less than we are: the answer is there at once, and messages that came while it was away
// are answered, too.

const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    url: { type: 'string' },
    root: { type: 'string' },
    ca: { type: 'string' },
    mute: { type: 'boolean' },
  },
});
(WA_CERT_DETAILS as { PUBLIC_KEY: Buffer }).PUBLIC_KEY = Buffer.from(values.root!, 'hex');
const { state, saveCreds } = await useMultiFileAuthState(values.folder!);
const ca = readFileSync(values.ca!);

function connect(): void {
  const sock = makeWASocket({
    auth: state,
    waWebSocketUrl: values.url!,
    logger: pino({ level: 'silent' }),
    fetchAgent: new HttpsAgent({ ca }),
  });
  sock.ev.on('creds.update', saveCreds);
  sock.ev.on('connection.update', (update: Partial<ConnectionState>) => {
    if (update.qr) process.send?.({ qr: update.qr });
    if (update.connection === 'open') process.send?.({ open: true });
    if (update.connection !== 'close') return;
    const code = (update.lastDisconnect?.error as { output?: { statusCode?: number } } | undefined)?.output?.statusCode;
    if (code === DisconnectReason.loggedOut) process.exit(3);
    connect();
  });
  sock.ev.on('messages.upsert', async ({ messages }) => {
    for (const message of messages) {
      const reply = values.mute ? null : replyTo(message);
      if (reply) await sock.sendMessage(message.key.remoteJid!, { text: reply }, { quoted: message }).catch(() => {});
    }
  });
}

function replyTo(message: WAMessage): string | null {
  const text = message.message?.conversation ?? message.message?.extendedTextMessage?.text ?? '';
  const script = scriptedStep({ user: text, step: 0, last: '', system: '' });
  if (script) return script.say ?? null;
  return text && !message.key.fromMe ? `you wrote "${text}"` : null;
}

connect();
