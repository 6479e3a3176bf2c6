import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hunk } from '../../../kennel/runner/agent/tool-calls.ts';
import { Sanitiser } from '../../../kennel/runner/log/sanitiser.ts';
import { TextBatcher } from '../../../kennel/runner/log/text-batcher.ts';

const KEY = 'sk-fetch-0123456789abcdef0123456789abcdef';

describe('cleaning', () => {
  const sanitiser = new Sanitiser([KEY], {
    MY_TOKEN: 'tok-12345678',
    PATH: '/usr/bin',
    SSH_AUTH_SOCK: '/run/agent.sock',
    GIT_AUTHOR_NAME: 'Some Person',
  });

  test.each([
    ['our key', `the key is ${KEY}.`, 'the key is [hidden].'],
    ['a value of the environment that is named like a secret', 'tok-12345678', '[hidden]'],
    ['a GitHub token', `ghp_${'a'.repeat(36)}`, '[hidden]'],
    ['an AWS key', 'id AKIAABCDEFGHIJKLMNOP', 'id [hidden]'],
    ['a Google key', `AIza${'b'.repeat(35)}`, '[hidden]'],
    [
      'a private key',
      '-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nafter',
      '[hidden]\nafter',
    ],
    ['the password of an address', 'postgres://me:hunter2@db/x', 'postgres://me:[hidden]@db/x'],
    ['a bearer token', 'Authorization: Bearer abcdefghijklmnopqrstuvwx', 'Authorization: Bearer [hidden]'],
  ])('hides %s', (_what, text, clean) => expect(sanitiser.text(text)).toBe(clean));

  test('leaves paths of the environment and ordinary words alone', () => {
    expect(sanitiser.text('/run/agent.sock of Some Person, a risk-based task-list')).toBe(
      '/run/agent.sock of Some Person, a risk-based task-list',
    );
  });

  test('takes out terminal escapes and characters that hide or turn text', () => {
    expect(sanitiser.text('\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b(Bplain\u0007\u0000')).toBe('red plain');
    expect(sanitiser.text('a\u202eb\u200bc\r\nd\te')).toBe('abc\nd\te');
    expect(sanitiser.text('\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\')).toBe('link');
    expect(sanitiser.text('half \ud800 a pair').isWellFormed()).toBe(true);
  });

  test('makes one line, and keeps the end of what is too long', () => {
    expect(sanitiser.line('  a\n b\t\tc ', 100)).toBe('a b c');
    expect(sanitiser.line('x'.repeat(300), 200)).toHaveLength(200);
    const detail = sanitiser.detail(`${'a'.repeat(5000)}THE END`, 1000);
    expect(detail.length).toBeLessThanOrEqual(1000);
    expect(detail).toMatch(/^a+\n… \d+ characters …\na+THE END$/);
  });

  test('is quick on what is made to be slow', () => {
    const began = performance.now();
    for (const evil of [
      '\u001b['.repeat(50_000),
      'a://'.repeat(30_000),
      `-----BEGIN ${'A '.repeat(40_000)}`,
      'sk-'.repeat(40_000),
      'eyJ'.repeat(40_000),
    ])
      sanitiser.detail(evil, 4000);
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

describe('pieces of text', () => {
  let written: Array<[string, string]>;
  let pieces: TextBatcher;

  beforeEach(() => {
    vi.useFakeTimers();
    written = [];
    pieces = new TextBatcher(new Sanitiser([KEY]), (id, text) => written.push([id, text]));
  });
  afterEach(() => vi.useRealTimers());

  test('join the chunks of half a second', () => {
    for (const chunk of ['Hel', 'lo ', 'there ', 'you ']) pieces.add('m', chunk);
    expect(written).toEqual([]);
    vi.advanceTimersByTime(500);
    expect(written).toEqual([['m', 'Hello there you ']]);
  });

  test('are never longer than 500 characters, and lose nothing', () => {
    const text = Array.from({ length: 1000 }, (_, n) => `word${n}`).join(' ');
    pieces.add('m', text);
    pieces.flush();
    expect(Math.max(...written.map(([, piece]) => piece.length))).toBeLessThanOrEqual(500);
    expect(written.map(([, piece]) => piece).join('')).toBe(text);
  });

  test('are parted where the message changes', () => {
    pieces.add('a', 'one');
    pieces.add('b', 'two');
    pieces.flush();
    expect(written).toEqual([
      ['a', 'one'],
      ['b', 'two'],
    ]);
  });

  test('hide a secret that comes in chunks with time between them', () => {
    pieces.add('m', `here: ${KEY.slice(0, 12)}`);
    vi.advanceTimersByTime(1000);
    pieces.add('m', KEY.slice(12, 25));
    vi.advanceTimersByTime(600);
    pieces.add('m', `${KEY.slice(25)} done `);
    vi.advanceTimersByTime(5000);
    pieces.flush();
    const all = written.map(([, piece]) => piece).join('');
    expect(all).toBe('here: [hidden] done ');
  });

  test('hide a private key whose lines come one by one', () => {
    pieces.add('m', 'x\n-----BEGIN PRIVATE KEY-----\n');
    for (let n = 0; n < 10; n++) {
      vi.advanceTimersByTime(3000);
      pieces.add('m', `MIIEvQIBADANBgkq${n}\n`);
    }
    pieces.add('m', '-----END PRIVATE KEY-----\nafter\n');
    pieces.flush();
    expect(written.map(([, piece]) => piece).join('')).toBe('x\n[hidden]\nafter\n');
  });

  test('do not tear a pair of surrogates', () => {
    pieces.add('m', `${'a'.repeat(499)}${'🐕'.repeat(600)}`);
    pieces.flush();
    expect(written.every(([, piece]) => piece.isWellFormed())).toBe(true);
  });

  test('do not hold back text without spaces for ever', () => {
    pieces.add('m', '漢字'.repeat(20));
    vi.advanceTimersByTime(3000);
    expect(written).toHaveLength(1);
  });
});

describe('a change as a diff', () => {
  test('has three lines around what changed', () => {
    const before = Array.from({ length: 20 }, (_, n) => `line ${n}`).join('\n');
    expect(hunk('a.txt', before, before.replace('line 10', 'other'))).toBe(
      [
        '--- a.txt',
        '+++ a.txt',
        '@@ -8,7 +8,7 @@',
        ' line 7',
        ' line 8',
        ' line 9',
        '-line 10',
        '+other',
        ' line 11',
        ' line 12',
        ' line 13',
      ].join('\n'),
    );
  });

  test('tells of a new file', () => {
    expect(hunk('a.txt', null, 'x\ny')).toBe('--- /dev/null\n+++ a.txt\n@@ -0,0 +1,2 @@\n+x\n+y');
  });
});
