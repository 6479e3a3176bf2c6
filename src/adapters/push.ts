import { createECDH, hkdfSync } from 'node:crypto';
import type { PushMessage } from '../contracts/owner-push.ts';
import { isLocalEndpoint } from './model/endpoint/endpoint.ts';

/** Notices to browsers (Web Push, RFC 8030 and 8292) and to ntfy (https://docs.ntfy.sh/publish/). */

/** How long a push service keeps a notice for a phone that is off; seconds. */
const KEPT_SECONDS = 24 * 3_600;
const PATIENCE_MS = 15_000;
/**
 * Push services want to know whom to ask about a sender: the page itself, where others can reach it. Apple's refuses a
 * name that is known only here (BadJwtToken), and with it every notice; example.com is known and belongs to nobody.
 */
const CONTACT = 'mailto:fetch@example.com';

function contactOf(origin: string | null): string {
  const page = origin === null ? null : URL.parse(origin);
  return page?.protocol === 'https:' && !isLocalEndpoint(page.href) ? page.origin : CONTACT;
}

/** The address is gone for good: the person has taken the permission back. */
export class PushGone extends Error {
  override readonly name = 'PushGone';
}

interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

/** The keys of this home, base64url. They come from its secret, so that every API of it has the same. */
export function vapidKeys(secret: string): VapidKeys {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(Buffer.from(hkdfSync('sha256', secret, '', 'fetch web push', 32)));
  return { publicKey: ecdh.getPublicKey('base64url'), privateKey: ecdh.getPrivateKey('base64url') };
}

interface Subscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
  /** of the page */
  origin: string | null;
}

/** @throws PushGone, Error with the answer of the push service */
export async function sendWebPush(to: Subscription, message: PushMessage, keys: VapidKeys): Promise<void> {
  // most homes send none, and it is memory
  const { default: webpush } = await import('web-push');
  const { method, headers, body } = webpush.generateRequestDetails(to, JSON.stringify(message), {
    vapidDetails: { subject: contactOf(to.origin), ...keys },
    TTL: KEPT_SECONDS,
    urgency: 'high',
    contentEncoding: 'aes128gcm',
  });
  await ask(to.endpoint, { method, headers: headers as Record<string, string>, body: body as Uint8Array<ArrayBuffer> });
}

/** The server answers 404 for what it has forgotten, so that only a refused notice is an error. @throws Error */
export async function sendNtfy(topicUrl: string, message: PushMessage): Promise<void> {
  const url = new URL(topicUrl);
  const topic = decodeURIComponent(url.pathname.split('/').filter(Boolean).at(-1) ?? '');
  const base = `${url.origin}${url.pathname.replace(/\/[^/]*\/?$/, '')}`;
  const { username, password } = url;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = { 'content-type': 'application/json', ...(password && { authorization: `Basic ${login}` }) };
  if ('close' in message) {
    // servers before 2.16 cannot take a notice back
    await ask(`${base}/${topic}/${sequenceId(message.close)}`, { method: 'DELETE', headers }).catch(() => {});
    return;
  }
  const { title, body, tag, url: click } = message;
  await ask(`${base}/`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ topic, title, message: body, click, sequence_id: sequenceId(tag) }),
  });
}

/** Letters, digits, `-` and `_` only. */
const sequenceId = (tag: string): string => tag.replace(/[^\w-]/g, '-');

async function ask(address: string, request: RequestInit): Promise<void> {
  const response = await fetch(address, { ...request, redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS) });
  const text = await response.text().catch(() => '');
  if (response.status === 404 || response.status === 410) throw new PushGone(`${response.status}`);
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`);
}
