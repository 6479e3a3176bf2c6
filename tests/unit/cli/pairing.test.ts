import { encode } from 'uqr';
import { describe, expect, it, test } from 'vitest';
import { widthOf } from '../../../src/cli/chat/screen/layout.ts';
import { phoneToPair, qrText, sextants } from '../../../src/cli/setup/whatsapp/pair.ts';

// as long as the real ones are
const QR = `https://wa.me/settings/linked_devices#2@${'aB3+'.repeat(26)},${['x', 'y', 'z'].map((key) => `${key.repeat(43)}=`).join(',')}`;
const CAPTION =
  'On the phone: WhatsApp > Settings (Android: the three dots) > Linked devices > Link a device, and scan this.\nWithout a camera: fetch pair --phone +491701234567\n/skip leaves it.';

describe('the QR', () => {
  it.each([
    ['80x24', { columns: 80, rows: 24 }],
    ['120x40', { columns: 120, rows: 40 }],
    ['200x60', { columns: 200, rows: 60 }],
  ])('fits a terminal of %s with its caption and the line that is typed', (_, size) => {
    const lines = qrText(QR, CAPTION, size).split('\n');
    expect(lines.length).toBeLessThan(size.rows);
    for (const line of lines) expect(widthOf(line)).toBeLessThan(size.columns);
    expect(lines.join(' ').replace(/\s+/g, ' ')).toContain('/skip');
  });

  test('says in a smaller one how much room it takes, and how to do without it', () => {
    expect(qrText(QR, CAPTION, { columns: 60, rows: 15 })).toMatch(
      /too small for the QR: it\stakes\s\d\d\scolumns\sand\s2\d\srows.*--phone/s,
    );
  });

  test('in small has every module of the large one, with light ones around', () => {
    const { data } = encode(QR, { ecc: 'L', border: 2 });
    const shapes = new Map([
      [' ', 0],
      ['█', 63],
      ['▌', 21],
      ['▐', 42],
    ]);
    const rows = sextants(QR).map((row) =>
      [...row].map((character) => {
        const known = shapes.get(character);
        if (known !== undefined) return known;
        // the order of Unicode's block, which leaves out the four above
        const place = character.codePointAt(0)! - 0x1fb00;
        return Array.from({ length: 64 }, (_, bits) => bits).filter((bits) => ![0, 21, 42, 63].includes(bits))[place]!;
      }),
    );
    const light = data.map((line, y) =>
      line.map((_, x) => ((rows[Math.floor(y / 3)]![x >> 1]! >> ((y % 3) * 2 + (x & 1))) & 1) === 1),
    );
    expect(light).toEqual(data.map((line) => line.map((dark) => !dark)));
  });
});

describe('a number to pair', () => {
  test.each([
    ['+49 (0)170 123-4567', '491701234567'],
    ['0049 170 1234567', '491701234567'],
    ['+1 555 000-1111', '15550001111'],
    ['491701234567', '491701234567'],
  ])('%s is %s', (written, digits) => expect(phoneToPair(written)).toBe(digits));

  test.each([
    ['0170 1234567', 'does not say the country'],
    ['call me', 'no number'],
    ['+1 555 000-11', 'too short'],
    ['+49 170 1234567 89012', 'too long|so many digits|no number'],
    ['+999 170 1234567', 'no country'],
  ])('%s is refused: %s', (written, why) =>
    expect(() => phoneToPair(written)).toThrow(new RegExp(`(${why}).*international form`)),
  );
});
