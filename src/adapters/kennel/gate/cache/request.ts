import { type Origin, originNamed, originOf } from '../../../../domain/tasks/registries/registry-cache.ts';
import type { Target } from '../egress/allow-list.ts';
import type { Marks } from './marks.ts';

/**
 * What a container asks of the cache. Rules are asked for `by`, the registry; `url` may be where it keeps its files.
 */
export interface RegistryRequest {
  by: Origin;
  url: URL;
}

/** The request in an address of the cache; null for one without a meaning, or with a wrong mark. */
export function registryRequest(address: URL, marks: Marks): RegistryRequest | null {
  const found = address.port === '' ? originNamed(address.hostname) : null;
  if (!found || (found.named && !marks.isTrue(found.origin, found.named))) return null;
  const { scheme, host: at, port } = found.origin;
  const url = URL.parse(`${scheme}://${at}:${port}${address.pathname}${address.search}`);
  return url && { by: found.named?.by ?? found.origin, url };
}

/** A file of a mirror that speaks plain HTTP. What has credentials is its owner's alone and goes past the cache. */
export function plainRequest(address: URL, headers: NodeJS.Dict<unknown>): RegistryRequest | null {
  const by = originOf(address);
  return by && headers.authorization === undefined && headers.cookie === undefined && !address.username
    ? { by, url: new URL(address.href) }
    : null;
}

export const targetOf = ({ host, port }: Origin): Target => ({ host, port });
