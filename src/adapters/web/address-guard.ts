import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** One address of a host name. */
interface HostAddress {
  address: string;
  family: 4 | 6;
}
export type Resolver = (host: string) => Promise<HostAddress[]>;
export type AddressRule = (address: string) => boolean;

/** Thrown before a connection is made; `message` is written for the model. */
export class BlockedAddressError extends Error {
  constructor(host: string) {
    super(`${host} is not on the public internet, and only public addresses may be fetched.`);
    this.name = 'BlockedAddressError';
  }
}

/**
 * Whether an address is on the public internet. It is an allow-list, so that an unknown range is refused. Of IPv6 only
 * 2000::/3 is global unicast, which excludes every form with an IPv4 address inside (mapped, compatible, NAT64). 6to4
 * and Teredo lie within it and have their own ranges.
 */
export function isPublicAddress(address: string, own: readonly string[] = ownAddresses()): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || [...OF_THE_CLOUD, ...own].includes(parsed.toNormalizedString())) return false;
  return parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'));
}

/** A public address that the machine's own cloud answers: Azure's agent, which hands out certificates and settings. */
const OF_THE_CLOUD = ['168.63.129.16'];

/**
 * Servers of this machine that trust local callers also listen on its public addresses. Read each time, because
 * addresses change.
 */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => ipaddr.parse(address).toNormalizedString());

export const systemResolver: Resolver = async (host) =>
  (await dnsLookup(host, { all: true, verbatim: true })) as HostAddress[];

/** The host of a URL when it is an IP address (without the brackets of IPv6), else null. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) ? bare : null;
}

/**
 * A `lookup` for sockets. The socket connects to exactly the addresses that were checked here, so a name that resolves
 * differently the second time (DNS rebinding) gains nothing. Addresses that are not allowed are left out; a name with
 * none left fails.
 */
export function guardedLookup(resolve: Resolver, allows: AddressRule): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (all) => {
        const wanted =
          options.family === 4 || options.family === 6 ? all.filter((entry) => entry.family === options.family) : all;
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
