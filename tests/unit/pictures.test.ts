import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { cast, phone } from '../pictures/draw.ts';
import { PICTURES } from '../pictures/pictures.ts';

const root = new URL('../../', import.meta.url);

it('every picture that the program makes is on a page, and shows something that is there', () => {
  const pages = ['README.md', ...readdirSync(new URL('docs/', root)).map((page) => `docs/${page}`)].filter((page) =>
    page.endsWith('.md'),
  );
  const text = pages.map((page) => readFileSync(new URL(page, root), 'utf8')).join('\n');
  for (const [picture, subjects] of Object.entries(PICTURES)) {
    expect([picture, text.includes(`images/${picture})`)]).toEqual([picture, true]);
    for (const subject of subjects) expect([subject, existsSync(new URL(subject, root))]).toEqual([subject, true]);
  }
});

it('a phone shows each message in lines that fit, and no text of one as markup', () => {
  const drawn = phone('Fetch', 'A chat', [
    { mine: true, text: 'task' },
    { mine: false, text: `<b>one</b>\n${'a word '.repeat(20)}` },
  ]);
  expect(drawn).toContain('&#60;b&#62;one&#60;/b&#62;');
  for (const [, line] of drawn.matchAll(/<text [^>]*>([^<]*)<\/text>/g))
    expect(line!.replace(/&#\d+;/g, '-').length).toBeLessThanOrEqual(36);
});

it('a film shows one screen at a time, each once, and takes the time that it is given', async () => {
  const shots = [
    { at: 0, output: 'hello', below: '' },
    { at: 100, output: 'hello', below: '' },
    { at: 60_000, output: 'hello\r\nagain', below: 'kill -9 7' },
  ];
  const film = await cast(shots, { cols: 20, rows: 3 }, 20_000);
  const times = [...film.matchAll(/keyTimes="([^"]+)"/g)].map(([, at]) => at);
  // nothing stands still for a minute
  expect(times).toEqual(['0;0.5000', '0;0.5000;0.9999']);
  expect(film.match(/dur="20000ms"/g)).toHaveLength(2);
  expect(film).toContain('another terminal $ kill -9 7');
});
