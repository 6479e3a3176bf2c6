import { describe, expect, test } from 'vitest';
import { decodePage } from '../../../src/adapters/web/page-encoding.ts';

/** The bytes of a text in an encoding that Node only reads: each of its characters by one or two bytes. */
function encode(text: string, encoding: string): Buffer {
  if (encoding === 'utf-8' || encoding === 'utf-16le') return Buffer.from(text, encoding);
  if (encoding === 'utf-16be') return Buffer.from(text, 'utf16le').swap16();
  if (encoding === 'iso-2022-jp') {
    const runs = text.replace(/[^\0-\x7f]+/g, (run) => {
      const letters = Array.from(encode(run, 'euc-jp'), (byte) => byte - 0x80);
      return `\x1b$B${Buffer.from(letters).toString('latin1')}\x1b(B`;
    });
    return Buffer.from(runs, 'latin1');
  }
  const bytesOf = tableOf(encoding);
  return Buffer.from([...text].flatMap((letter) => bytesOf.get(letter) ?? fail(letter, encoding)));
}

const fail = (letter: string, encoding: string): never => {
  throw new Error(`${encoding} has no ${letter}`);
};

const tables = new Map<string, Map<string, number[]>>();
function tableOf(encoding: string): Map<string, number[]> {
  const known = tables.get(encoding);
  if (known) return known;
  const table = new Map<string, number[]>();
  const put = (...bytes: number[]): void => {
    const letter = new TextDecoder(encoding).decode(Uint8Array.from(bytes));
    if ([...letter].length === 1 && letter !== '\ufffd' && !table.has(letter)) table.set(letter, bytes);
  };
  for (let one = 0; one < 256; one++) put(one);
  for (let one = 0x81; one < 255; one++) for (let two = 0x40; two < 255; two++) put(one, two);
  tables.set(encoding, table);
  return table;
}

const TEXTS = {
  Russian: 'Сегодня в Москве ожидается переменная облачность, температура воздуха до пяти градусов.',
  Ukrainian: 'Ласкаво просимо до нашої крамниці, усі товари є в наявності.',
  Japanese: '今日の天気は晴れ、最高気温は十五度でしょう。詳しくはホームページをご覧ください。',
  Simplified: '欢迎来到我们的网站，今天天气晴朗，最高气温十五度。更多信息请访问我们的主页。',
  Traditional: '歡迎來到我們的網站，今天天氣晴朗，最高氣溫十五度。更多資訊請參閱我們的首頁。',
  Korean: '우리 웹사이트에 오신 것을 환영합니다. 오늘 날씨는 맑고 최고 기온은 십오 도입니다.',
  French:
    'Aujourd’hui, le temps sera dégagé à Paris, avec des températures élevées. Découvrez l’été à la française : les élèves fêtent Noël près du théâtre, où la répétition générale a déjà commencé.',
  Polish: 'Dzisiaj będzie słonecznie, najwyższa temperatura wyniesie piętnaście stopni. Dziękujemy za wsparcie.',
  Czech: 'Dnes bude slunečno, nejvyšší teplota dosáhne patnácti stupňů. Více informací naleznete na domovské stránce.',
  Turkish: 'Bugün hava güneşli, en yüksek sıcaklık on beş derece. Daha fazla bilgi için ana sayfamızı ziyaret ediniz.',
  Hebrew: 'היום מזג האוויר יהיה נאה, הטמפרטורה המרבית חמש עשרה מעלות.',
  Arabic: 'الطقس اليوم مشمس ودرجة الحرارة العظمى خمس عشرة درجة.',
  Thai: 'วันนี้อากาศแจ่มใส อุณหภูมิสูงสุดสิบห้าองศา',
  Greek: 'Σήμερα ο καιρός θα είναι αίθριος, με μέγιστη θερμοκρασία δεκαπέντε βαθμούς.',
} as const;

/** A language, its encoding, and another one that a page may declare by mistake. */
const PAGES: Array<[keyof typeof TEXTS, string, string]> = [
  ['Russian', 'windows-1251', 'koi8-r'],
  ['Russian', 'koi8-r', 'windows-1251'],
  ['Russian', 'iso-8859-5', 'windows-1251'],
  ['Ukrainian', 'windows-1251', 'windows-1252'],
  ['Ukrainian', 'koi8-u', 'windows-1251'],
  ['Japanese', 'shift_jis', 'euc-jp'],
  ['Japanese', 'euc-jp', 'shift_jis'],
  ['Japanese', 'iso-2022-jp', 'utf-8'],
  ['Simplified', 'gb18030', 'big5'],
  ['Traditional', 'big5', 'gbk'],
  ['Korean', 'euc-kr', 'shift_jis'],
  ['French', 'windows-1252', 'windows-1251'],
  ['Polish', 'windows-1250', 'windows-1252'],
  ['Polish', 'iso-8859-2', 'windows-1252'],
  ['Czech', 'windows-1250', 'iso-8859-1'],
  ['Turkish', 'windows-1254', 'iso-8859-1'],
  ['Hebrew', 'windows-1255', 'windows-1252'],
  ['Arabic', 'windows-1256', 'iso-8859-1'],
  ['Thai', 'windows-874', 'windows-1252'],
  ['Greek', 'windows-1253', 'iso-8859-1'],
  ['Russian', 'utf-8', 'windows-1251'],
  ['Russian', 'utf-16le', 'utf-8'],
  ['French', 'utf-16be', 'iso-8859-1'],
];
const html = (text: string, head = ''): string =>
  `<!doctype html><html><head>${head}<title>x</title></head><body class="a"><p>${text}</p></body></html>`;
const readAs = (bytes: Buffer, type = 'text/html') => decodePage(bytes, type, false);

describe.each(PAGES)('a page in %s, %s', (language, encoding, other) => {
  const text = TEXTS[language];
  const later = `${'<script>var a = 1;</script>'.repeat(10_000)}`;

  test('is read when nothing declares it, in HTML and alone', async () => {
    expect(await readAs(encode(html(text), encoding))).toContain(text);
    expect(await readAs(encode(text, encoding), 'text/plain')).toContain(text);
  });

  test(`is read when the header says ${other}, the page too, or the page against a right header`, async () => {
    expect(await readAs(encode(html(text), encoding), `text/html; charset=${other}`)).toContain(text);
    const wrong = encode(html(text, `<meta charset="${other}">`), encoding);
    expect(await readAs(wrong)).toContain(text);
    expect(await readAs(wrong, `text/html; charset=${encoding}`)).toContain(text);
  });

  test('is read by its own late declaration, in HTML and in XML', async () => {
    const declared = html(text, `<meta http-equiv="Content-Type" content="text/html; charset=${encoding}">`);
    expect(await readAs(encode(`${later}${declared}`, encoding))).toContain(text);
    expect(await readAs(encode(`<?xml version="1.0" encoding="${encoding}"?><p>${text}</p>`, encoding))).toContain(
      text,
    );
  });

  test('is read from a few letters of it that it declares rightly', async () => {
    for (const length of [4, 8])
      for (let at = 0; at + length <= text.length && at < 40; at += 5) {
        const few = text.slice(at, at + length);
        const page = await readAs(encode(html(few), encoding), `text/html; charset=${encoding}`);
        expect(page).toContain(few);
      }
  });
});

test('a page in UTF-8 with one broken letter stays UTF-8', async () => {
  const page = Buffer.concat([Buffer.from('<p>Привет, café'), Buffer.from([0xe9]), Buffer.from(' müde</p>')]);
  expect(await readAs(page)).toContain('Привет, café');
});

test('a cut last letter does not make a page another encoding', async () => {
  const page = Buffer.from('<p>Привет').subarray(0, -1);
  expect(await decodePage(page, 'text/html', true)).toBe('<p>Приве');
});

test('UTF-8 that was taken for Latin letters and encoded again is read', async () => {
  const twice = (text: string): Buffer => Buffer.from(new TextDecoder('windows-1252').decode(Buffer.from(text)));
  for (const text of [TEXTS.Russian, TEXTS.Japanese, TEXTS.French]) expect(await readAs(twice(text))).toBe(text);
});

test.each([
  'Der „Spaß“ und das „Maß“ in Straßen',
  'Ä°, Ã© and Â» are rubbish, über dünnes Eis, ça va, naïve',
  'Â« à »',
])('letters that only look encoded twice stay as they are: %s', async (text) => {
  expect(await readAs(Buffer.from(text))).toBe(text);
});
