import { NOISE_HEADER } from './noise.ts';

/** Frames on the wire: three bytes of big-endian length, then the body; the client's first bytes are an intro. */

export function frame(body: Uint8Array): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntBE(body.length, 0, 3);
  return Buffer.concat([header, body]);
}

/** Cuts the client's byte stream into frame bodies, however it is chunked. Throws when the intro is not WhatsApp's. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);
  #introduced = false;
  /** what a client that was told its edge routing sends ahead of the intro */
  routingInfo: Buffer | null = null;

  push(chunk: Uint8Array): Buffer[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (!this.#introduced && !this.#readIntro()) return [];
    const frames: Buffer[] = [];
    while (this.#bytes.length >= 3) {
      const length = this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < 3 + length) break;
      frames.push(Buffer.from(this.#bytes.subarray(3, 3 + length)));
      this.#bytes = this.#bytes.subarray(3 + length);
    }
    return frames;
  }

  #readIntro(): boolean {
    if (this.#bytes.length < 7) return false;
    if (this.#bytes.subarray(0, 4).equals(Buffer.from([0x45, 0x44, 0, 1]))) {
      const length = this.#bytes.readUIntBE(4, 3);
      if (this.#bytes.length < 7 + length + NOISE_HEADER.length) return false;
      this.routingInfo = Buffer.from(this.#bytes.subarray(7, 7 + length));
      this.#bytes = this.#bytes.subarray(7 + length);
    }
    if (!this.#bytes.subarray(0, NOISE_HEADER.length).equals(NOISE_HEADER))
      throw new Error('the client did not introduce itself as WhatsApp Web');
    this.#bytes = this.#bytes.subarray(NOISE_HEADER.length);
    this.#introduced = true;
    return true;
  }
}
