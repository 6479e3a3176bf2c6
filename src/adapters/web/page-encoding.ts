/** A declaration may stand this late, in bytes. */
const DECLARED_WITHIN = 512 * 1024;
/** The detector reads no more, from the first letter on that is not ASCII. */
const EVIDENCE = 100_000;
/**
 * How much likelier than a declared encoding another must be. So many bytes that are not ASCII are no evidence against
 * a declaration; Latin 1 is what servers say of pages that they do not know.
 */
const likelier = (declared: string, foreign: number): number => {
  if (foreign < (declared === 'windows-1252' ? 6 : 24)) return Infinity;
  return foreign < 24 ? 2 : 1;
};
/** The detector's confidence in a pattern, as of the escapes of Japanese mail or the zero bytes of UTF-16. */
const CERTAIN = 0.9;

/** What pages use; the detector also knows those of mainframes and DOS, and finds them in short texts. */
const DETECTED = [
  ...['utf-16-le', 'utf-16-be', 'shift_jis', 'euc-jp', 'iso-2022-jp', 'gb18030', 'big5', 'euc-kr', 'koi8-r', 'koi8-u'],
  ...['tis-620', 'windows-874', 'iso-8859-2', 'iso-8859-5', 'iso-8859-6', 'iso-8859-7', 'iso-8859-8'],
  ...['iso-8859-15', 'windows-1250', 'windows-1251', 'windows-1252', 'windows-1253', 'windows-1254', 'windows-1255'],
  ...['windows-1256', 'windows-1257', 'windows-1258'],
];
/** Its names that TextDecoder does not know. */
const LABELS: Record<string, string> = {
  'utf-16-le': 'utf-16le',
  'utf-16-be': 'utf-16be',
  cp874: 'windows-874',
  cp932: 'shift_jis',
  cp949: 'euc-kr',
  big5hkscs: 'big5',
};

/**
 * The text of a page. Declarations are late, missing or wrong, so the bytes decide: a byte order mark, then UTF-8 if
 * the bytes are that, then the encoding that the detector finds most likely. A declaration in which the bytes can be
 * read counts where they are few. `cut`: the last character may be incomplete.
 */
export async function decodePage(bytes: Buffer, contentType: string, cut: boolean): Promise<string> {
  const raw = bytes.toString('latin1');
  const mark = markOf(bytes);
  if (mark) return read(bytes, mark, cut).text;
  const declared = declaredIn(contentType, raw.slice(0, DECLARED_WITHIN));
  const foreign = raw.match(/[\x80-\xff]/g)?.length ?? 0;
  const unicode = read(bytes, 'utf-8', cut);
  const plain = foreign === 0 && !/\0|\x1b[$(]/.test(raw);
  if (plain || (foreign > 0 && isUtf8(unicode))) return decodedTwice(unicode.text) ?? unicode.text;

  const legible = (label: string): boolean => read(bytes, label, cut).lost * 20 <= foreign;
  const found = await detected(raw);
  const likely = (label: string): number => found.find((each) => each.label === label)?.confidence ?? 0;
  const [best] = declared.filter(legible).toSorted((a, b) => likely(b) - likely(a));
  const first = found.find(({ label }) => legible(label));
  const another =
    best && first && (first.confidence > CERTAIN || first.confidence > likely(best) * likelier(best, foreign));
  return read(bytes, (another || !best ? (first?.label ?? declared[0]) : best) ?? 'utf-8', cut).text;
}

interface Reading {
  text: string;
  /** characters that cannot be read */
  lost: number;
}

function read(bytes: Buffer, label: string, cut: boolean): Reading {
  const text = new TextDecoder(label).decode(bytes, { stream: cut });
  return { text, lost: text.match(/\ufffd/g)?.length ?? 0 };
}

/** UTF-8 in spite of a few broken characters: bytes of another encoding hardly ever are a character of it. */
const isUtf8 = ({ text, lost }: Reading): boolean =>
  lost === 0 || lost * 4 <= (text.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0);

function declaredIn(contentType: string, start: string): string[] {
  const labels = [
    /charset\s*=\s*["']?([^\s"';,]+)/i.exec(contentType)?.[1],
    /^[^<]{0,20}<\?xml[^<>]{0,200}encoding\s{0,5}=\s{0,5}["']([\w-]+)/i.exec(start)?.[1],
    /<meta[^<>]{0,200}charset\s{0,5}=\s{0,5}["']?([\w-]+)/i.exec(start)?.[1],
  ].flatMap((label) => decoderOf(label)?.encoding ?? []);
  // without a mark, a page that has no zero byte is none of these
  return [...new Set(labels)].filter((label) => !label.startsWith('utf-16') || start.includes('\0'));
}

function decoderOf(label: string | undefined): InstanceType<typeof TextDecoder> | null {
  try {
    return label === undefined ? null : new TextDecoder(label);
  } catch {
    return null;
  }
}

function markOf(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  // an XML or HTML page in UTF-16 without a mark begins with `<`
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0x3c && bytes[1] === 0)) return 'utf-16le';
  return (bytes[0] === 0xfe && bytes[1] === 0xff) || (bytes[0] === 0 && bytes[1] === 0x3c) ? 'utf-16be' : null;
}

/** The encodings that the bytes may be in, the likeliest first. */
async function detected(raw: string): Promise<Array<{ label: string; confidence: number }>> {
  // its tables take 20 MB, and few pages need them
  const { detectAll } = await import('jschardet');
  const from = Math.max(0, raw.search(/[\0\x1b\x80-\xff]/) - 200);
  // it believes what a page declares
  const undeclared = raw.slice(from, from + EVIDENCE).replace(/charset|coding/gi, 'x');
  return detectAll(Buffer.from(undeclared, 'latin1'), { minimumThreshold: 0, detectEncodings: DETECTED }).flatMap(
    ({ encoding, confidence }) => {
      const name = (encoding ?? '').toLowerCase();
      const decoder = decoderOf(LABELS[name] ?? name);
      return decoder ? [{ label: decoder.encoding, confidence }] : [];
    },
  );
}

/** The characters of windows-1252 whose code points are not their bytes, and these bytes. */
const LATIN = new Map(
  Array.from({ length: 32 }, (_, at) => [new TextDecoder('windows-1252').decode(Uint8Array.of(at + 128)), at + 128]),
);
const LATIN_RUNS = /[\u0080-\u00ffŒœŠšŸŽžƒˆ˜–—‘’‚“”„†‡•…‰‹›€™]{2,}/g;
/** One pair may be two letters that a language has; this many are not. */
const PAIRS = 3;

/** UTF-8 whose bytes were taken for Latin letters and written as UTF-8 again; null for any other text. */
function decodedTwice(text: string): string | null {
  let pairs = 0;
  const once = text.replace(LATIN_RUNS, (run) => {
    const bytes = Buffer.from(Array.from(run, (letter) => LATIN.get(letter) ?? letter.charCodeAt(0)));
    const { text: letters, lost } = read(bytes, 'utf-8', false);
    if (lost > 0) return run;
    pairs += letters.length;
    return letters;
  });
  const foreign = (of: string): number => of.match(/[^\0-\x7f]/g)?.length ?? 0;
  return pairs >= PAIRS && pairs * 10 >= foreign(once) * 9 ? once : null;
}
