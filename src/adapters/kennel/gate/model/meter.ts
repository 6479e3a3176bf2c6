import { createParser } from 'eventsource-parser';
import { type Cost, cacheSurcharge, costOf, type PriceBook } from '../../../../domain/model/price-book.ts';
import { prefix, storableText } from '../../../../domain/text/storable.ts';
import type { ModelUsage } from '../../../../store/kennel/tasks/usage.ts';
import type { Wire } from './routes.ts';
import { READERS, refusalIn, type Seen, type StreamRefusal } from './usage-readers.ts';

/** Reads a call's usage from its answer as it passes through. */
export interface Meter {
  feed(bytes: Uint8Array): void;
  /** There are no more bytes. */
  end(): void;
  /** What the model said so far; a refusal may come in place of the rest. */
  said(): { something: boolean; refusal: StreamRefusal | null };
  /**
   * The usage of one call. What the answer does not say (a cut stream, a server that does not count) is estimated,
   * never free.
   */
  finish(): ModelUsage & { estimated: boolean };
}

interface MeterInput {
  wire: Wire;
  /** content type of the answer; null while there is none */
  contentType: string | null;
  /** as named in the request; the name in the answer has priority */
  model: string;
  /** size of the request's body, for an estimate */
  requestBytes: number;
  /** prices of the endpoint that answers */
  prices: PriceBook;
}

/** Most bytes of an answer, or of one of its events, that are read for usage. Longer ones are estimated. */
const MAX_READ = 32 * 1024 * 1024;
/** English and code have about four characters a token; other scripts fewer */
const CHARACTERS_PER_TOKEN = 3;
const MAX_MODEL_NAME = 120;

export function createMeter({ wire, contentType, model, requestBytes, prices }: MeterInput): Meter {
  const seen: Seen = {
    model: null,
    fresh: 0,
    cached: 0,
    cacheWrites: 0,
    longCacheWrites: 0,
    output: 0,
    usd: null,
    complete: false,
    characters: 0,
    refusal: null,
  };
  const reader = contentType?.toLowerCase().startsWith('text/event-stream')
    ? eventStream(wire, seen)
    : wholeBody(wire, seen);
  let bytes = 0;
  let ended = false;
  const end = () => {
    if (!ended) reader.end();
    ended = true;
  };
  return {
    end,
    said: () => ({ something: seen.characters > 0 || seen.complete, refusal: seen.refusal }),
    feed(chunk) {
      bytes += chunk.byteLength;
      reader.feed(chunk);
    },
    finish() {
      end();
      // an endpoint that refused and said nothing else did no work
      if (!seen.complete && !(seen.refusal && seen.characters === 0)) estimate(seen, requestBytes, bytes);
      const read = seen.fresh + seen.cached + seen.cacheWrites + seen.longCacheWrites;
      // names that are equal in the store count as one
      const name = storableText(prefix(seen.model ?? model, MAX_MODEL_NAME)) || 'unknown';
      const { microUsd, unpriced } = costOfSeen([seen.model ?? model, model], seen, prices);
      return {
        model: name,
        calls: 1,
        inputTokens: read,
        outputTokens: seen.output,
        microUsd,
        ...(unpriced > 0 && { unpriced }),
        estimated: !seen.complete,
      };
    },
  };
}

function costOfSeen(names: readonly string[], seen: Seen, prices: PriceBook): Cost {
  const usage = {
    inputTokens: seen.fresh + seen.cacheWrites + seen.longCacheWrites + seen.cached,
    surchargeTokens: cacheSurcharge(seen.cacheWrites, seen.longCacheWrites),
    cachedTokens: seen.cached,
    outputTokens: seen.output,
    usd: seen.usd,
  };
  return costOf(names, usage, prices);
}

function estimate(seen: Seen, requestBytes: number, answerBytes: number): void {
  if (seen.fresh + seen.cached + seen.cacheWrites + seen.longCacheWrites === 0)
    seen.fresh = Math.ceil(requestBytes / CHARACTERS_PER_TOKEN);
  const characters = seen.characters || answerBytes;
  seen.output = Math.max(seen.output, Math.ceil(characters / CHARACTERS_PER_TOKEN));
}

interface Reader {
  feed(chunk: Uint8Array): void;
  end(): void;
}

function eventStream(wire: Wire, seen: Seen): Reader {
  const decoder = new TextDecoder();
  let readable = true;
  const parser = createParser({
    maxBufferSize: MAX_READ,
    onEvent: ({ data }) => readJson(data, wire, seen),
    onError: ({ type }) => {
      // the parser then accepts no more, but the stream itself goes on
      if (type === 'max-buffer-size-exceeded') readable = false;
    },
  });
  return {
    feed(chunk) {
      if (readable) parser.feed(decoder.decode(chunk, { stream: true }));
    },
    // some servers do not end their last event with an empty line
    end() {
      if (readable) parser.feed('\n\n');
    },
  };
}

function wholeBody(wire: Wire, seen: Seen): Reader {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    feed(chunk) {
      size += chunk.byteLength;
      if (size <= MAX_READ) chunks.push(chunk);
      else chunks.length = 0;
    },
    end() {
      if (size <= MAX_READ) readJson(Buffer.concat(chunks).toString(), wire, seen);
    },
  };
}

function readJson(text: string, wire: Wire, seen: Seen): void {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    return; // `[DONE]`, or not an answer
  }
  seen.refusal ??= refusalIn(wire, event);
  READERS[wire](event, seen);
}
