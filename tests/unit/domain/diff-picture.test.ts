import { expect, it } from 'vitest';
import { diffPages } from '../../../src/domain/text/diff-picture.ts';

const of = (path: string, ...lines: string[]): string =>
  [
    `diff --git a/${path} b/${path}`,
    'index 1..2 100644',
    `--- a/${path}`,
    `+++ b/${path}`,
    '@@ -1 +1 @@',
    ...lines,
  ].join('\n');

it('a difference is a page for each file, with its counts and the words that changed', () => {
  const { pages, left } = diffPages(
    `${of('a.ts', ' same', '-const a = 1;', '+const a = 2;')}\n${of('b.ts', '+new')}\n`,
  );
  expect([pages.map(({ path }) => path), left]).toEqual([['a.ts', 'b.ts'], 0]);
  expect(pages[0]!.html).toContain('<h1>a.ts <b>+1</b> <i>−1</i></h1>');
  expect(pages[0]!.html).toContain('<div class="removed">-const a = <mark>1</mark>;</div>');
  expect(pages[0]!.html).toContain('<div class="added">+const a = <mark>2</mark>;</div>');
  expect(pages[0]!.html).not.toContain('index 1');
});

it('words are marked in the last line of a file that ends without a line end, too', () => {
  const note = '\\ No newline at end of file';
  const { html } = diffPages(of('a.css', '-color: blue', note, '+color: red', note)).pages[0]!;
  expect(html).toContain('color: <mark>red</mark>');
  expect(html).not.toContain('newline');
});

it('nothing in a difference is markup of the page', () => {
  const name = '<img src=x onerror=alert(1)>.html';
  const { html } = diffPages(of(name, '-<script>a</script>', '+<script>"b" & \'c\'</script>')).pages[0]!;
  expect(html.replace(/<\/?(?:style|body|h1|b|i|div|mark)(?: class="\w+")?>/g, '')).not.toMatch(/[<>]/);
  expect(html).toContain('&#60;script&#62;');
});

it('a long difference says what is left out', () => {
  const long = of('a.ts', ...Array.from({ length: 400 }, (_, at) => `+line ${at}`));
  expect(diffPages(long).pages[0]!.html).toContain('<div class="hunk">… 250 more lines</div>');
  const many = Array.from({ length: 8 }, (_, at) => of(`${at}.ts`, '+a')).join('\n');
  const { pages, left } = diffPages(many);
  expect([pages.length, left]).toEqual([5, 3]);
});

it('a text that is no difference has no pages', () => {
  expect(diffPages('There is no difference.')).toEqual({ pages: [], left: 0 });
});

it('a deleted, a binary and a renamed file have their names', () => {
  const deleted = 'diff --git a/x.ts b/x.ts\ndeleted file mode 100644\n--- a/x.ts\n+++ /dev/null\n@@ -1 +0,0 @@\n-a';
  const binary = 'diff --git a/p.png b/p.png\nindex 1..2\nBinary files a/p.png and b/p.png differ';
  const { pages } = diffPages(`${deleted}\n${binary}`);
  expect(pages.map(({ path }) => path)).toEqual(['x.ts', 'a/p.png b/p.png']);
  expect(pages[0]!.html).toContain('deleted file mode');
  expect(pages[1]!.html).toContain('Binary files');
});
