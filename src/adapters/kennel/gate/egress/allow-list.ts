import { isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** What a container asks a tunnel to. `host` is in lower case, without the brackets of IPv6 and the dot of the root. */
export interface Target {
  host: string;
  port: number;
}

export type AllowList = (target: Target) => boolean;

/** Ports of an entry that names none. */
const USUAL_PORTS = new Set([443, 80]);
const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/;

/** The target of a CONNECT, `host:port`; null when it is none. */
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
 * Makes the rule of a list: `example.com`, `*.example.com` (every name below it, not itself), either with `:port`; ports 443 and 80
 * without one. Throws for an entry that is none, so that a mistake does not pass for a rule.
 */
export function allowList(entries: readonly string[]): AllowList {
  const rules = entries
    .map((entry) => entry.trim())
    .filter(Boolean)
    .map((entry) => {
      const match = /^(\*\.)?([^*/:@\s]+)(?::(\d{1,5}))?$/.exec(entry);
      const host = match && normal(match[2]!);
      if (!match || !host) throw new Error(`"${entry}" is not a host that can be allowed. Use example.com, *.example.com or example.com:8443.`);
      return { below: match[1] !== undefined, host, port: match[3] === undefined ? null : Number(match[3]) };
    });
  return ({ host, port }) =>
    rules.some(
      (rule) => (rule.below ? host.endsWith(`.${rule.host}`) : host === rule.host) && (rule.port === null ? USUAL_PORTS.has(port) : rule.port === port),
    );
}
