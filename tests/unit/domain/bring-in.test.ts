import { describe, expect, it, test } from 'vitest';
import { fetchableAddress } from '../../../src/adapters/github/clone.ts';
import { asOpened } from '../../../src/cli/chat/input/typed.ts';
import { nameFrom, parseBringIn, pastedPath } from '../../../src/domain/chat/words/bring-in.ts';

describe('the words that bring in a project', () => {
  test.each([
    ['clone https://github.com/ada/shop', { from: 'https://github.com/ada/shop' }],
    ['Clone https://github.com/ada/shop.git as store', { from: 'https://github.com/ada/shop.git', name: 'store' }],
    ['/clone git@github.com:ada/shop.git', { from: 'git@github.com:ada/shop.git' }],
    ['open /home/ada/shop', { from: '/home/ada/shop' }],
    ['open ~/shop/ as store', { from: '~/shop', name: 'store' }],
    ["open '/home/ada/my shop'", { from: '/home/ada/my shop' }],
    ['open /home/ada/my\\ shop', { from: '/home/ada/my shop' }],
    ['open file:///home/ada/my%20shop', { from: '/home/ada/my shop' }],
    ['clone /home/ada/shop', { from: '/home/ada/shop' }],
  ])('"%s"', (text, meant) => expect(parseBringIn(text)).toEqual(meant));

  test.each([
    'open the door',
    'open shop',
    'clone it',
    'clone the repository of Ada',
    'open',
    'please open /home/ada/shop and fix it\nnow',
    `open /${'a'.repeat(300)}`,
  ])('are not in "%s"', (text) => expect(parseBringIn(text)).toBeNull());

  test.each([
    ["'/home/ada/it'", '/home/ada/it'],
    ['/home/ada/it ', '/home/ada/it'],
    ['file://localhost/home/ada', '/home/ada'],
    ['file:///home/%ZZ', null],
    ['src/app.ts', null],
    ['/', null],
  ])('a dragged "%s" is the path %s', (text, path) => expect(pastedPath(text)).toBe(path));

  it('are made of a folder that is dragged into the terminal, and of nothing else', () => {
    const isFolder = (path: string) => path === '/home/ada/my shop';
    expect(asOpened("'/home/ada/my shop'", isFolder)).toBe('open /home/ada/my shop');
    expect(asOpened('/home/ada/my\\ shop/', isFolder)).toBe('open /home/ada/my shop');
    expect(asOpened('/home/ada/notes.txt', isFolder)).toBe('/home/ada/notes.txt');
    expect(asOpened('/new', isFolder)).toBe('/new');
    expect(asOpened('open .', () => true)).toBe(`open ${process.cwd()}`);
  });

  test.each([
    ['https://github.com/ada/My.Shop.git', 'My-Shop'],
    ['git@github.com:ada/shop.git', 'shop'],
    ['/home/ada/my shop', 'my-shop'],
    ['/home/ada/shop/.git', 'shop'],
    ['/home/ada/---', null],
  ])('%s is called %s', (from, name) => expect(nameFrom(from)).toBe(name));

  test.each([
    ['git@github.com:ada/shop.git', 'https://github.com/ada/shop.git'],
    ['https://git.example.com/ada/shop', 'https://git.example.com/ada/shop'],
    ['https://ada:secret@git.example.com/shop', null],
    ['git@git.example.com:shop.git', null],
    ['ext::sh -c id', null],
    ['-upload-pack=x', null],
  ])('%s is fetched from %s', (from, address) =>
    expect(fetchableAddress(from, 'https://api.github.com')).toBe(address),
  );
});
