import { isPublicAddress, literalAddress } from '../../web/address-guard.ts';

/** Whether an endpoint's address is on this machine or in a private network. Names are not looked up. */
export function isLocalEndpoint(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  const address = literalAddress(hostname);
  if (address) return !isPublicAddress(address);
  return !hostname.includes('.') || /\.(localhost|local|internal|lan|home\.arpa)\.?$/i.test(hostname);
}
