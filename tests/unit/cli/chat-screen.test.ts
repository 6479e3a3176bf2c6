import { PassThrough } from 'node:stream';
import xterm from '@xterm/headless';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createScreen } from '../../../src/cli/chat/screen/screen.ts';
import type { Screen } from '../../../src/cli/chat/screen/types.ts';
import { holds } from '../../support/property.ts';
import { until } from '../../support/until.ts';

/** A chat's screen in a terminal that can be looked at. */
function open({ columns = 40, rows = 12, dumb = false } = {}) {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    allowProposedApi: true,
    convertEol: true,
    scrollback: 5_000,
  });
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns, rows });
  let raw = '';
  output.on('data', (chunk) => {
    raw += chunk;
  });
  const sent: string[] = [];
  let ended = 0;
  const screen: Screen = createScreen({
    input,
    output,
    dumb,
    history: [],
    onMessage: (text) => sent.push(text),
    onInterrupt: () => {},
    onEnd: () => ended++,
  });
  let drawn = 0;
  return {
    screen,
    sent,
    raw: () => raw,
    ended: () => ended,
    type: (text: string) => void input.emit('data', Buffer.from(text)),
    resize(to: { columns: number; rows: number }) {
      terminal.resize(to.columns, to.rows);
      Object.assign(output, to).emit('resize');
    },
    /** everything that the terminal holds, without what is empty at its end */
    async lines(): Promise<string[]> {
      const fresh = raw.slice(drawn);
      drawn = raw.length;
      await new Promise<void>((resolve) => terminal.write(fresh, resolve));
      const { active } = terminal.buffer;
      const all = Array.from({ length: active.length }, (_, row) =>
        active.getLine(row)!.translateToString(true).trimEnd(),
      );
      return all.slice(0, all.findLastIndex((line) => line !== '') + 1);
    },
    cursor: () => terminal.buffer.active.cursorX,
  };
}
const pasted = (text: string) => `\x1b[200~${text}\x1b[201~`;

describe('a terminal', () => {
  test('keeps what is typed below what comes', async () => {
    const { screen, type, lines, cursor } = open();
    type('half a thou');
    screen.partial('an ans');
    screen.status('thinking', ', 2 s');
    expect(await lines()).toEqual(['an ans', 'thinking, 2 s', '› half a thou']);
    expect(cursor()).toBe(13);
    screen.partial('');
    screen.status('');
    screen.print('an answer that is longer than one row of this small terminal');
    expect(await lines()).toEqual(['an answer that is longer than one row', 'of this small terminal', '› half a thou']);
  });

  test('asks for bracketed paste and takes it back', () => {
    const { screen, raw } = open();
    expect(raw()).toContain('\x1b[?2004h');
    screen.close();
    expect(raw()).toContain('\x1b[?2004l');
  });

  test('takes a paste of 300 lines as one message, and shows of it what has room', async () => {
    const { type, sent, lines } = open({ rows: 10 });
    const text = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join('\r\n');
    type(pasted(text));
    expect(await lines()).toEqual([
      '  … 294 rows above',
      ...[295, 296, 297, 298, 299, 300].map((line) => `  line ${line}`),
    ]);
    expect(sent).toEqual([]);
    type('\r');
    expect(sent).toEqual([text.replaceAll('\r\n', '\n')]);
    expect((await lines()).slice(-3)).toEqual(['  line 12', '  … (300 lines)', '›']);
  });

  test('writes several lines with Alt+Enter, a backslash and a block, and sends each as one message', async () => {
    const { type, sent, lines } = open();
    type('one\x1b\rtwo\r');
    type('three \\\rfour\r');
    type('"""\rfive\r\rsix\r"""\r');
    expect(sent).toEqual(['one\ntwo', 'three \nfour', 'five\n\nsix']);
    expect((await lines()).slice(0, 2)).toEqual(['› one', '  two']);
  });

  test('sends what was typed before it was there, whose Enter the terminal has made a line feed', () => {
    const { type, sent } = open();
    type('help\nstatus\n');
    expect(sent).toEqual(['help', 'status']);
  });

  test('is drawn again when its size changes', async () => {
    const { screen, type, lines, resize } = open({ columns: 60 });
    screen.print('said before');
    type('a line that is typed and that has some fifty characters');
    screen.status('thinking');
    await lines();
    resize({ columns: 30, rows: 12 });
    expect(await lines()).toEqual([
      'said before',
      'thinking',
      '› a line that is typed and',
      '  that has some fifty',
      '  characters',
    ]);
    resize({ columns: 80, rows: 12 });
    expect(await lines()).toEqual([
      'said before',
      'thinking',
      '› a line that is typed and that has some fifty characters',
    ]);
  });

  test('is left on Ctrl-D only where nothing is typed', () => {
    const { type, ended } = open();
    type('x\x04');
    expect(ended()).toBe(0);
    type('\x7f\x04');
    expect(ended()).toBe(1);
  });

  it('shows every finished line once and what is typed last, whatever comes between', () =>
    holds(
      fc.asyncProperty(
        fc.integer({ min: 20, max: 50 }),
        fc.array(
          fc.oneof(
            fc.record({
              does: fc.constant('print' as const),
              text: fc.constantFrom(
                'done',
                'two\nlines',
                'a longer text that takes more than one row here',
                '漢字😀 wide',
              ),
            }),
            fc.record({
              does: fc.constant('partial' as const),
              text: fc.constantFrom('', 'being written', 'being written, and by now it is quite a long line of text'),
            }),
            fc.record({
              does: fc.constant('status' as const),
              text: fc.constantFrom('', 'thinking', 'running something with a long name and more'),
            }),
            fc.record({
              does: fc.constant('type' as const),
              text: fc.constantFrom(
                'a',
                'word ',
                '漢',
                '\x1b\r',
                '\x1b[D',
                '\x7f',
                pasted('some pasted words\nand more'),
              ),
            }),
          ),
          { maxLength: 30 },
        ),
        async (columns, acts) => {
          const { screen, type, lines } = open({ columns, rows: 14 });
          const printed: string[] = [];
          screen.print('begin');
          for (const { does, text } of acts) {
            if (does === 'type') type(text);
            else screen[does](text);
            if (does === 'print') printed.push(text);
          }
          screen.partial('');
          screen.status('');
          const all = (await lines()).join('\n');
          const [finished, typed] = [all.slice(0, all.lastIndexOf('\n›')), all.slice(all.lastIndexOf('\n›'))];
          const squeeze = (text: string) => text.replace(/\s+/g, '');
          expect(squeeze(finished)).toBe(squeeze(['begin', ...printed].join('')));
          expect(typed.startsWith('\n›')).toBe(true);
        },
      ),
      { runs: 60 },
    ));
});

test('a terminal that knows no escape sequences gets none, no line twice, and no status that is over at once', async () => {
  const { screen, type, sent, raw } = open({ dumb: true });
  screen.partial('being wri');
  screen.print('an answer');
  for (const second of [0, 1, 2]) screen.status('thinking', `, ${second} s`);
  await until('the status is printed', () => raw().includes('(thinking)'));
  screen.status('running a tool');
  screen.status('');
  type('one \\\ntwo\n');
  expect(raw()).toBe('an answer\n(thinking)\n');
  expect(sent).toEqual(['one \ntwo']);
});
