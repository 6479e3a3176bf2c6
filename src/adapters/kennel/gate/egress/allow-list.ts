import { isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** The target of a tunnel request. `host` is in lower case, without IPv6 brackets and without the final dot. */
export interface Target {
  host: string;
  port: number;
}

export type AllowList = (target: Target) => boolean;

/** Ports of an entry without a port. */
const USUAL_PORTS = new Set([443, 80]);
const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/;

/** The target of a CONNECT, `host:port`; null when it is not valid. */
export function parseTarget(text: string): Target | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/@\s]+)):(\d{1,5})$/.exec(text);
  if (!match) return null;
  const port = Number(match[3]);
  if (port < 1 || port > 65_535) return null;
  if (match[1]) return isIPv6(match[1]) ? { host: match[1].toLowerCase(), port } : null;
  const host = normal(match[2]!);
  return host === null ? null : { host, port };
}

function normal(name: string): string | null {
  const ascii = domainToASCII(name.replace(/\.$/, '')).toLowerCase();
  return HOST.test(ascii) ? ascii : null;
}

/**
 * The rule of a list: `example.com`, `*.example.com` (every name below it, not itself), each with an optional `:port`;
 * without it, 443 and 80. Throws for a wrong entry, so that a mistake does not count as a rule.
 */
export function allowList(entries: readonly string[]): AllowList {
  const rules = entries
    .map((entry) => entry.trim())
    .filter(Boolean)
    .map((entry) => {
      const match = /^(\*\.)?([^*/:@\s]+)(?::(\d{1,5}))?$/.exec(entry);
      const host = match && normal(match[2]!);
      if (!match || !host)
        throw new Error(
          `"${entry}" is not a host that can be allowed. Use example.com, *.example.com or example.com:8443.`,
        );
      return { below: match[1] !== undefined, host, port: match[3] === undefined ? null : Number(match[3]) };
    });
  return ({ host, port }) =>
    rules.some(
      (rule) =>
        (rule.below ? host.endsWith(`.${rule.host}`) : host === rule.host) &&
        (rule.port === null ? USUAL_PORTS.has(port) : rule.port === port),
    );
}
