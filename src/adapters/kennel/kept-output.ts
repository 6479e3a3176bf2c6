/**
 * Keeps `limit` bytes of a stream of any length: half from the beginning, the rest from the end. Memory stays below
 * about twice the limit, whatever the size of the chunks.
 */
export class KeptOutput {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #head = Buffer.alloc(0);
  #headBytes = 0;
  /** a ring buffer, once it is full */
  #tail = Buffer.alloc(0);
  /** bytes that came after the head, kept or not */
  #tailTotal = 0;

  constructor(limit: number) {
    this.#headLimit = Math.ceil(Math.max(0, limit) / 2);
    this.#tailLimit = Math.max(0, limit) - this.#headLimit;
  }

  get cut(): boolean {
    return this.#tailTotal > this.#tailLimit;
  }

  push(chunk: Buffer): void {
    const first = chunk.subarray(0, this.#headLimit - this.#headBytes);
    this.#head = withCapacity(this.#head, this.#headBytes + first.length, this.#headLimit);
    first.copy(this.#head, this.#headBytes);
    this.#headBytes += first.length;
    let rest = chunk.subarray(first.length);
    if (rest.length > this.#tailLimit) {
      this.#tailTotal += rest.length - this.#tailLimit;
      rest = rest.subarray(rest.length - this.#tailLimit);
    }
    if (rest.length === 0) return;
    this.#tail = withCapacity(this.#tail, Math.min(this.#tailTotal + rest.length, this.#tailLimit), this.#tailLimit);
    const at = this.#tailTotal % this.#tailLimit;
    const written = rest.copy(this.#tail, at);
    rest.copy(this.#tail, 0, written);
    this.#tailTotal += rest.length;
  }

  text(): string {
    const head = this.#head.subarray(0, this.#headBytes);
    if (!this.cut) return Buffer.concat([head, this.#tail.subarray(0, this.#tailTotal)]).toString('utf8');
    const at = this.#tailLimit > 0 ? this.#tailTotal % this.#tailLimit : 0;
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
    return `${wholeEnd(head).toString('utf8')}\n… ${this.#tailTotal - this.#tailLimit} bytes left out …\n${wholeStart(tail).toString('utf8')}`;
  }
}

/** The same bytes in a buffer with room for `needed`. It grows by doubling, up to `limit`. */
function withCapacity(buffer: Buffer<ArrayBuffer>, needed: number, limit: number): Buffer<ArrayBuffer> {
  if (buffer.length >= needed) return buffer;
  const larger = Buffer.alloc(Math.min(limit, Math.max(needed, 2 * buffer.length, 4096)));
  buffer.copy(larger);
  return larger;
}

const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Without the rest of a character whose beginning was cut off. */
function wholeStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && continues(bytes[start])) start += 1;
  return bytes.subarray(start);
}

/** Without the beginning of a character whose end was cut off. */
function wholeEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if (continues(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
