const HEADER = 8;

/**
 * Separates stdout and stderr in the engine's stream of a container without a terminal. A frame has one byte for the
 * stream, three empty ones, four for the length, then the content. A frame may span chunks. It is not dockerode's
 * `demuxStream`, because that waits for whole frames and copies what it holds with each chunk.
 */
export class Demux {
  readonly #sinks: { stdout: (bytes: Buffer) => void; stderr: (bytes: Buffer) => void };
  readonly #header = Buffer.alloc(HEADER);
  #headerBytes = 0;
  /** bytes left in the current frame */
  #left = 0;

  constructor(sinks: { stdout: (bytes: Buffer) => void; stderr: (bytes: Buffer) => void }) {
    this.#sinks = sinks;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#left === 0) {
        const taken = chunk.copy(this.#header, this.#headerBytes, at, at + HEADER - this.#headerBytes);
        this.#headerBytes += taken;
        at += taken;
        if (this.#headerBytes < HEADER) return;
        this.#headerBytes = 0;
        this.#left = this.#header.readUInt32BE(4);
        continue;
      }
      const content = chunk.subarray(at, at + this.#left);
      this.#sinks[this.#header[0] === 2 ? 'stderr' : 'stdout'](content);
      this.#left -= content.length;
      at += content.length;
    }
  }
}
