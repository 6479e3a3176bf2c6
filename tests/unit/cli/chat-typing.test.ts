import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it, test, vi } from 'vitest';
import { Editor, goesOn, messageOf, nextLine } from '../../../src/cli/chat/screen/editor.ts';
import { type Key, readKeys } from '../../../src/cli/chat/screen/keys.ts';
import { holds } from '../../support/property.ts';

/** What a keyboard's bytes mean, cut into chunks at these places. */
function read(bytes: Buffer, cuts: readonly number[]): { texts: string[]; keys: Key[] } {
  const input = new PassThrough();
  const got = { texts: [] as string[], keys: [] as Key[] };
  readKeys(input, { text: (text) => got.texts.push(text), key: (key) => got.keys.push(key) });
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  for (const [index, place] of places.slice(1).entries()) input.emit('data', bytes.subarray(places[index]!, place));
  return got;
}
const pasteOf = (text: string): Buffer => Buffer.from(`\x1b[200~${text}\x1b[201~`);

describe('a paste', () => {
  it('is one text, wherever its bytes are cut', () =>
    holds(
      fc.property(
        fc.array(
          fc.constantFrom(
            'line',
            '\r',
            '\n',
            '\r\n',
            '😀',
            '漢字',
            'é',
            ' ',
            '\t',
            '\x1b[31m',
            '[',
            '2',
            '~',
            '"""',
            '\\',
          ),
          {
            minLength: 1,
            maxLength: 40,
          },
        ),
        fc.array(fc.nat(), { maxLength: 8 }),
        (parts, cuts) => {
          const { texts, keys } = read(
            Buffer.concat([Buffer.from('a'), pasteOf(parts.join('')), Buffer.from('\r')]),
            cuts,
          );
          const plain = parts.join('').replaceAll('\x1b[31m', '').replace(/\r\n?/g, '\n');
          expect(texts).toEqual(plain === '' ? ['a'] : ['a', plain]);
          expect(keys.map(({ name }) => name)).toEqual(['return']);
        },
      ),
      { runs: 300 },
    ));

  test('of 300 lines is one text', () => {
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}`).join('\n');
    expect(read(pasteOf(lines), [1_000, 2_000]).texts).toEqual([lines]);
  });

  test('cannot drive the terminal', () => {
    expect(read(pasteOf('a\x1b[2Jb\x07c\x1b]0;title\x07d\u202ee\x00'), []).texts).toEqual(['abcde']);
  });
});

test('a paste whose end is lost does not swallow what is typed later', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  const input = new PassThrough();
  const texts: string[] = [];
  const keys: Key[] = [];
  readKeys(input, { text: (text) => texts.push(text), key: (key) => keys.push(key) });
  input.emit('data', Buffer.from('\x1b[200~cut off'));
  now.mockReturnValue(4_000);
  input.emit('data', Buffer.from('\x03'));
  now.mockRestore();
  expect(texts).toEqual(['cut off']);
  expect(keys).toMatchObject([{ name: 'c', ctrl: true }]);
});

test('a key is told from text, also with Alt', () => {
  const { texts, keys } = read(Buffer.from('é😀\x1b\r\x1b[D\x03'), []);
  expect(texts).toEqual(['é', '😀']);
  expect(keys.map(({ name, ctrl, meta }) => [name, Boolean(ctrl), Boolean(meta)])).toEqual([
    ['return', false, true],
    ['left', false, false],
    ['c', true, false],
  ]);
});

describe('a message of several lines', () => {
  test('goes on behind a backslash and inside of a block', () => {
    expect(goesOn('one \\')).toBe(true);
    expect(nextLine('one \\')).toBe('one \n');
    expect(goesOn('one\ntwo')).toBe(false);
    // a backslash that is doubled is text
    expect(goesOn('C:\\\\')).toBe(false);
    expect(goesOn('"""')).toBe(true);
    expect(goesOn('"""\none\ntwo \\')).toBe(true);
    expect(nextLine('"""\ntwo \\')).toBe('"""\ntwo \\\n');
    expect(goesOn('"""\none\n"""')).toBe(false);
    expect(goesOn('"""one"""')).toBe(false);
  });

  test('is sent without the marks of its block', () => {
    expect(messageOf('"""\n  one\n\ntwo\n"""')).toBe('  one\n\ntwo');
    expect(messageOf('"""one"""')).toBe('one');
    expect(messageOf(' plain "quoted" ')).toBe('plain "quoted"');
  });
});

describe('the line that is typed', () => {
  const typed = (text: string, history: string[] = []) => {
    const editor = new Editor(history);
    editor.insert(text);
    return {
      editor,
      press: (...names: string[]) => {
        for (const name of names)
          editor.press({
            name: name.replace(/^(ctrl|alt)-/, ''),
            ctrl: name.startsWith('ctrl-'),
            meta: name.startsWith('alt-'),
          });
        return `${editor.text.slice(0, editor.cursor)}|${editor.text.slice(editor.cursor)}`;
      },
    };
  };

  test('is edited by the characters that a person sees', () => {
    expect(typed('a👨‍👩‍👧').press('backspace')).toBe('a|');
    expect(typed('ae\u0301').press('left')).toBe('a|e\u0301');
    expect(typed('one two').press('alt-b', 'alt-b', 'delete')).toBe('|ne two');
    expect(typed('one two').press('ctrl-w', 'ctrl-y', 'ctrl-y')).toBe('one twotwo|');
  });

  test('has lines, and Home, End, up and down know them', () => {
    expect(typed('one\ntwo\nthree').press('home')).toBe('one\ntwo\n|three');
    expect(typed('one\ntwo\nthree').press('up')).toBe('one\ntwo|\nthree');
    expect(typed('one\ntwo\nthree').press('up', 'up', 'ctrl-a', 'down', 'end')).toBe('one\ntwo|\nthree');
    expect(typed('one\ntwo').press('ctrl-u')).toBe('one\n|');
  });

  test('comes back out of the history with all its lines, and what was begun is kept', () => {
    const { press } = typed('begun', ['last\nof two lines', 'first']);
    expect(press('up')).toBe('last\nof two lines|');
    expect(press('up', 'up')).toBe('first|');
    expect(press('down')).toBe('last\nof two lines|');
    expect(press('down')).toBe('begun|');
  });

  it('never leaves its cursor outside of it or inside of a character, whatever is pressed', () =>
    holds(
      fc.property(
        fc.array(
          fc.constantFrom(
            'left',
            'right',
            'up',
            'down',
            'home',
            'end',
            'backspace',
            'delete',
            'ctrl-w',
            'ctrl-k',
            'ctrl-u',
            'ctrl-y',
            'alt-b',
            'alt-f',
            'ctrl-p',
            'ctrl-n',
          ),
          { maxLength: 40 },
        ),
        fc.array(fc.constantFrom('a', ' ', '\n', '😀', '漢', '_b'), { maxLength: 20 }),
        (keys, parts) => {
          const { editor, press } = typed(parts.join(''), ['old\nmessage', '😀']);
          for (const key of keys) {
            press(key);
            expect(editor.cursor).toBeGreaterThanOrEqual(0);
            expect(editor.cursor).toBeLessThanOrEqual(editor.text.length);
            // a half of a pair would be seen as a character of its own
            expect(editor.text.isWellFormed()).toBe(true);
          }
        },
      ),
    ));
});
