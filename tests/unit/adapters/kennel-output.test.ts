import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Demux } from '../../../src/adapters/kennel/docker/containers.ts';
import { KeptOutput } from '../../../src/adapters/kennel/kept-output.ts';
import { holds } from '../../support/property.ts';

const kept = (limit: number, ...chunks: string[]): KeptOutput => {
  const output = new KeptOutput(limit);
  for (const chunk of chunks) output.push(Buffer.from(chunk));
  return output;
};

describe('what is kept of output', () => {
  it('is everything while it fits', () => {
    const output = kept(10, 'hello', 'world');
    expect(output.text()).toBe('helloworld');
    expect(output.cut).toBe(false);
  });

  it('is the beginning and the end when it does not', () => {
    const output = kept(8, 'abcdefghij', 'klmnop');
    expect(output.text()).toBe('abcd\n… 8 bytes left out …\nmnop');
    expect(output.cut).toBe(true);
  });

  it('has no broken characters where it was cut', () => {
    expect(kept(9, 'ääääääää').text()).toBe('ää\n… 7 bytes left out …\nää');
    expect(kept(10, '🐕🐕🐕🐕').text()).toBe('🐕\n… 6 bytes left out …\n🐕');
  });

  it('is the same however the stream is cut into chunks', () => {
    holds(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 80 }),
        fc.array(fc.integer({ min: 1, max: 9 })),
        fc.integer({ min: 0, max: 60 }),
        (text, sizes, limit) => {
          const bytes = Buffer.from(text);
          const whole = new KeptOutput(limit);
          whole.push(bytes);
          const pieces = new KeptOutput(limit);
          let at = 0;
          for (const size of [...sizes, bytes.length]) {
            pieces.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(pieces.text()).toBe(whole.text());
          expect(pieces.cut).toBe(bytes.length > limit);
          if (!pieces.cut) expect(pieces.text()).toBe(text);
        },
      ),
    );
  });
});

describe('the streams of a container', () => {
  const frame = (stream: 1 | 2, text: string): Buffer => {
    const content = Buffer.from(text);
    const header = Buffer.alloc(8);
    header[0] = stream;
    header.writeUInt32BE(content.length, 4);
    return Buffer.concat([header, content]);
  };
  const read = (chunks: Buffer[]) => {
    const out = { stdout: '', stderr: '' };
    const into = (name: 'stdout' | 'stderr') => (bytes: Buffer) => {
      out[name] += bytes;
    };
    const demux = new Demux({ stdout: into('stdout'), stderr: into('stderr') });
    for (const chunk of chunks) demux.push(chunk);
    return out;
  };

  it('are told apart wherever a chunk begins', () => {
    const all = Buffer.concat([frame(1, 'one'), frame(2, 'wrong'), frame(1, ''), frame(1, 'two')]);
    for (let size = 1; size <= all.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
        all.subarray(index * size, (index + 1) * size),
      );
      expect(read(chunks)).toEqual({ stdout: 'onetwo', stderr: 'wrong' });
    }
  });

  it('may have any number of frames in one chunk', () => {
    const many = Buffer.concat(Array.from({ length: 50_000 }, () => frame(1, 'x')));
    expect(read([many]).stdout).toHaveLength(50_000);
  });
});
