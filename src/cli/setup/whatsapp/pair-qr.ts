import { styleText } from 'node:util';
import { encode, renderUnicodeCompact } from 'uqr';
import { widthOf, wrap } from '../../chat/screen/layout.ts';

/** Light modules around it, without which a camera does not find it. */
const QUIET = 2;
const GAP = '  ';
const NARROWEST_CAPTION = 24;

/**
 * A QR with what to do with it, as large as the screen allows: of half-high blocks with the words below, or in small,
 * of blocks of two by three with the words beside it. Where neither fits it says so. A row is left for what is typed.
 */
export function qrText(qr: string, caption: string, { columns, rows }: { columns: number; rows: number }): string {
  const large = renderUnicodeCompact(qr, { ecc: 'L', border: QUIET }).split('\n');
  const below = wrap(caption, columns - 1).split('\n');
  if (large[0]!.length < columns && large.length + below.length < rows)
    return [...large.map(coloured), ...below].join('\n');
  const small = sextants(qr);
  const width = widthOf(small[0]!) + GAP.length;
  const beside = columns - 1 - width;
  const lines = beside >= NARROWEST_CAPTION ? wrap(caption, beside).split('\n') : [];
  if (lines.length > 0 && lines.length <= small.length && small.length < rows)
    return small.map((row, index) => `${coloured(row)}${lines[index] ? GAP + lines[index] : ''}`).join('\n');
  const needed = `${width + NARROWEST_CAPTION + 1} columns and ${small.length + 1} rows`;
  return wrap(
    `This window is too small for the QR: it takes ${needed}. Make it larger and ask again, or link without a camera: fetch pair --phone +491701234567`,
    columns - 1,
  );
}

/** Black and white are said outright, because terminals are light or dark. */
const coloured = (row: string): string => styleText(['whiteBright', 'bgBlack'], row);

/** Two columns and three rows of modules in each character, so that a module is nearly square in a terminal. */
export function sextants(text: string): string[] {
  const { data } = encode(text, { ecc: 'L', border: QUIET });
  const lit = (y: number, x: number): boolean => data[y]?.[x] === false;
  return Array.from({ length: Math.ceil(data.length / 3) }, (_, row) =>
    Array.from({ length: Math.ceil(data.length / 2) }, (_, column) => {
      let bits = 0;
      for (let bit = 0; bit < 6; bit++) if (lit(row * 3 + (bit >> 1), column * 2 + (bit & 1))) bits |= 1 << bit;
      return sextant(bits);
    }).join(''),
  );
}

const LEFT_HALF = 0b010101;
const RIGHT_HALF = 0b101010;
const ALL = 0b111111;

/** Unicode leaves those out that it had already. */
function sextant(bits: number): string {
  if (bits === 0) return ' ';
  if (bits === ALL) return '█';
  if (bits === LEFT_HALF) return '▌';
  if (bits === RIGHT_HALF) return '▐';
  return String.fromCodePoint(0x1fb00 + bits - 1 - Number(bits > LEFT_HALF) - Number(bits > RIGHT_HALF));
}
