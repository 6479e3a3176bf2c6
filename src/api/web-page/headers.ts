import type { Context } from 'koa';

/**
 * What the page may do. Scripts and styles come from files of ours only: words of a model, a page or a stranger can
 * never become a script, even where the page made a mistake. `data:` is the picture of the QR code, `blob:` pictures of
 * chats.
 */
const POLICY = Object.entries({
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data: blob:",
  'media-src': 'blob:',
  'connect-src': "'self'",
  'manifest-src': "'self'",
  'worker-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
  'trusted-types': 'fetch',
})
  .map(([name, value]) => `${name} ${value}`)
  .join('; ');

/** Set on everything of the page, also on the notices. */
export function setPageHeaders(ctx: Context): void {
  ctx.set({
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  });
}
