import { isPublicAddress, literalAddress } from '../web/address-guard.ts';

/** Whether an endpoint is on this machine or in a network of one's own, as its address says. Names are not looked up. */
export function isLocalEndpoint(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  const address = literalAddress(hostname);
  if (address) return !isPublicAddress(address);
  return !hostname.includes('.') || /\.(localhost|local|internal|lan|home\.arpa)\.?$/i.test(hostname);
}
