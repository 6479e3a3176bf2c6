import { deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { pdfText } from '../../../src/adapters/pdf/pdf.ts';
import { documentText } from '../../../src/gateway/intake/attachments.ts';
import { pdf } from '../../support/pdf.ts';

const signal = new AbortController().signal;

it('a PDF is read as its text, page by page', async () => {
  expect(await documentText(pdf(['Invoice 4711', 'Total 12 EUR']), signal)).toBe('Invoice 4711\n\nTotal 12 EUR');
});

it('a PDF without text, and one that is broken, have none', async () => {
  expect(await documentText(pdf(['']), signal)).toBeNull();
  expect(await documentText(Buffer.from('%PDF-1.7 and then nothing of the kind'), signal)).toBeNull();
});

it('a PDF that takes too long is given up, and nothing waits for it when its message is dropped', async () => {
  expect(await pdfText(pdf(Array.from({ length: 500 }, () => 'x')), signal, { longestMs: 1 })).toBeNull();
  const dropped = new AbortController();
  const reading = pdfText(pdf(['x']), dropped.signal);
  dropped.abort(new Error('dropped'));
  await expect(reading).rejects.toThrow('dropped');
});

it('a PDF that swells to many times its size is given up before it takes the memory of this machine', async () => {
  // one page of 120 MB of blanks, deflated twice
  const content = Buffer.concat([Buffer.from('BT /F1 12 Tf (x) Tj ET'), Buffer.alloc(120_000_000, ' ')]);
  const packed = deflateSync(deflateSync(content, { level: 9 }), { level: 9 });
  const head = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
4 0 obj<</Length ${packed.length}/Filter[/FlateDecode/FlateDecode]>>stream\n`;
  const file = Buffer.concat([
    Buffer.from(head),
    packed,
    Buffer.from('\nendstream endobj\ntrailer<</Size 6/Root 1 0 R>>\n%%EOF'),
  ]);
  expect(file.length).toBeLessThan(20_000);
  expect(await pdfText(file, signal, { memoryMb: 8_000, longestMs: 100_000 })).toBe('x');
  expect(await pdfText(file, signal, { memoryMb: 200 })).toBeNull();
}, 120_000);
