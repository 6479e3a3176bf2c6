import type { OwnerEvent } from '../../../contracts/owner.ts';
import { tellResources } from './resource.ts';
import { follow } from './sse.ts';

/** Follows what changes, for as long as the page is open. Each change has what depends on it read again. */
export function followChanges(): void {
  let seq: number | null = null;
  let lost = false;
  void follow({
    address: () => `/v1/owner/events${seq === null ? '' : `?since_seq=${seq}`}`,
    onData: (data) => {
      const event = data as OwnerEvent;
      // several changes may have one `seq`, and reading something twice does no harm
      seq = event.seq;
      tellResources(event);
    },
    // what could not be read while the server was away
    onOpen: () => {
      if (lost) tellResources({ seq: seq ?? 0, about: 'all', thread_id: null, kinds: [] });
      lost = true;
    },
    signal: new AbortController().signal,
  }).catch(() => {});
}
