import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** One address that a host name stands for. */
export interface HostAddress {
  address: string;
  family: 4 | 6;
}
export type Resolver = (host: string) => Promise<HostAddress[]>;
export type AddressRule = (address: string) => boolean;

/** Thrown before a connection is made; `message` is ready for the model. */
export class BlockedAddressError extends Error {
  constructor(host: string) {
    super(`${host} is not on the public internet, and only public addresses may be fetched.`);
    this.name = 'BlockedAddressError';
  }
}

/**
 * Whether an address belongs to a host on the public internet. An allow-list, so a range that nobody thought of is
 * refused: of IPv6 only 2000::/3 is global unicast, which leaves out every form that carries an IPv4 address inside
 * (mapped, compatible, NAT64); 6to4 and Teredo lie within it and have ranges of their own.
 */
export function isPublicAddress(address: string, own: readonly string[] = ownAddresses()): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || [...OF_THE_CLOUD, ...own].includes(parsed.toNormalizedString())) return false;
  return parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'));
}

/** In a public range, and answered by the machine's own cloud: Azure's agent, which hands out certificates and settings. */
const OF_THE_CLOUD = ['168.63.129.16'];

/** Servers of this machine that trust local callers listen on its public addresses, too. Asked each time: addresses change. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => ipaddr.parse(address).toNormalizedString());

export const systemResolver: Resolver = async (host) => (await dnsLookup(host, { all: true, verbatim: true })) as HostAddress[];

/** Host of a URL as an address when it is one (brackets of IPv6 removed), else null. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) ? bare : null;
}

/**
 * A `lookup` for sockets: the socket connects to exactly the addresses that were checked here, so a name that answers
 * differently the second time (DNS rebinding) gains nothing. Addresses that are not allowed are left out; a name with none left fails.
 */
export function guardedLookup(resolve: Resolver, allows: AddressRule): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (all) => {
        const wanted = options.family === 4 || options.family === 6 ? all.filter((entry) => entry.family === options.family) : all;
        const allowed = wanted.filter((entry) => allows(entry.address));
        const first = allowed[0];
        if (!first) return callback(new BlockedAddressError(host), '', 0);
        if (options.all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error as NodeJS.ErrnoException, '', 0),
    );
  };
}
