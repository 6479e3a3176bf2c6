/** Replaces secrets in a stream, byte for byte, so that a stated length stays right. */
export interface Redact {
  text(value: string): string;
  /** the part of the stream that is certain; the rest waits for the next chunk */
  chunk(bytes: Uint8Array): Buffer;
  /** the part that still waits, at the end of the stream */
  end(): Buffer;
}

/**
 * An endpoint that repeats the key it was given (for example in an error) must not pass it to a container. A secret
 * that is split over two chunks is found too: only bytes that may be the beginning of a secret are held back, so that
 * the stream keeps flowing.
 */
export function createRedact(secrets: readonly string[]): Redact {
  const needles = secrets.filter((secret) => secret.length >= 4).map((secret) => Buffer.from(secret));
  let held: Buffer = Buffer.alloc(0);
  return {
    text: (value) =>
      needles.reduce((text, needle) => text.replaceAll(needle.toString(), '*'.repeat(needle.length)), value),
    chunk(bytes) {
      if (!needles.length) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const all = Buffer.concat([held, bytes]);
      for (const needle of needles) {
        for (let at = all.indexOf(needle); at >= 0; at = all.indexOf(needle, at + needle.length))
          all.fill('*', at, at + needle.length);
      }
      const keep = Math.max(...needles.map((needle) => beginning(all, needle)));
      held = all.subarray(all.length - keep);
      return all.subarray(0, all.length - keep);
    },
    end() {
      const rest = held;
      held = Buffer.alloc(0);
      return rest;
    },
  };
}

/** Number of bytes at the end of `all` that may begin `needle`. */
function beginning(all: Buffer, needle: Buffer): number {
  for (let length = Math.min(needle.length - 1, all.length); length > 0; length -= 1) {
    if (all.subarray(all.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}
