import { cachedHost, labelsOf, type Origin, originOf } from '../../../../domain/tasks/registries/registry-cache.ts';
import type { Marks } from './marks.ts';
import type { Links } from './rewrite/rewriter.ts';

/**
 * The addresses of an index of the registry `by`. `asked`: what the container asked for; `found`: where the index was,
 * after redirects.
 */
export function linksOf(marks: Marks, by: Origin, asked: URL, found: URL): Links {
  const hostOf = (url: URL): string | null => {
    const origin = url.username || url.password ? null : originOf(url);
    if (!origin) return null;
    return labelsOf(origin) === labelsOf(by)
      ? cachedHost(origin)
      : cachedHost(origin, { mark: marks.of(origin, by), by });
  };
  const moved = asked.href !== found.href;
  return {
    host: (address) => {
      const url = URL.parse(address);
      return url && hostOf(url);
    },
    rewritten(address) {
      // a relative one leads to the cache by itself, unless the container does not know where the index is
      if (!moved && !URL.canParse(address) && !address.startsWith('//')) return null;
      const url = URL.parse(address, found.href);
      const host = url && hostOf(url);
      return url && host ? `http://${host}${url.pathname}${url.search}${url.hash}` : null;
    },
  };
}
