import type { Links, Rewriter } from './rewriter.ts';

/**
 * The file of a sparse index that says where crates are. The address has markers such as `{crate}`, so it is not read
 * as a URL as a whole.
 */
export const cargo: Rewriter = {
  largest: 64 * 1024,
  concerns: ({ url }) => url.pathname.endsWith('/config.json'),
  rewrite(text, links) {
    const config = objectIn(text);
    const found = typeof config?.dl === 'string' ? elsewhere(config.dl, links) : null;
    return found === null ? text : JSON.stringify({ ...config, dl: found });
  },
};

function elsewhere(address: string, links: Links): string | null {
  const [origin] = /^https?:\/\/[^/?#@\s]+(?=[/?#]|$)/i.exec(address) ?? [];
  const host = origin === undefined ? null : links.host(origin);
  return host === null ? null : `http://${host}${address.slice(origin!.length)}`;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
