import { describe, expect, it } from 'vitest';
import { pagesOfApp, pagesOfSite } from '../../../src/domain/tasks/pages.ts';

const changed = (path: string, status: 'added' | 'modified' | 'deleted' | 'renamed' = 'modified', from?: string) => ({
  path,
  status,
  ...(from && { from }),
});
const at = (page: string, before: string | null = `/${page}`, after: string | null = `/${page}`) => ({
  page,
  before,
  after,
});

describe('pages of a project that is only files', () => {
  it.each([
    ['a changed page', [changed('index.html')], [], [at('index.html')]],
    ['a new page has no before', [changed('a/new.html', 'added')], [], [at('a/new.html', null)]],
    ['a deleted page has no after', [changed('old.htm', 'deleted')], [], [at('old.htm', '/old.htm', null)]],
    ['a moved page', [changed('b.html', 'renamed', 'a.html')], [], [at('b.html', '/a.html')]],
    [
      'a name with signs of addresses',
      [changed('a b#1?.html')],
      [],
      [at('a b#1?.html', ...twice('/a%20b%231%3F.html'))],
    ],
    [
      'the page above a changed style',
      [changed('site/css/a.css')],
      ['index.html', 'site/index.html'],
      [at('site/index.html')],
    ],
    ['the page at the root for a script', [changed('js/deep/er/a.js')], ['index.html'], [at('index.html')]],
    ['two files of one page', [changed('a.css'), changed('b.js')], ['index.html'], [at('index.html')]],
    ['a script of a project without pages', [changed('src/a.js'), changed('package.json')], ['src/a.js'], []],
    ['a text beside a page', [changed('README.md')], ['index.html'], []],
    ['what only tests look at', [changed('tests/a.html'), changed('a.test.js')], ['index.html'], []],
    ['at most two', ['a', 'b', 'c'].map((name) => changed(`${name}.html`)), [], [at('a.html'), at('b.html')]],
  ])('%s', (_, files, entries, pages) => {
    expect(pagesOfSite(files, entries)).toEqual(pages);
  });
});

describe('pages of a project with a server of its own', () => {
  it.each([
    ['the first page for a style', [changed('src/app.css')], [at('/', '/', '/')]],
    ['the first page for a template', [changed('templates/base.html')], [at('/', '/', '/')]],
    ['a page of Next', [changed('src/app/about/page.tsx')], [at('/about', '/about', '/about')]],
    ['its root', [changed('app/page.tsx')], [at('/', '/', '/')]],
    ['a new page of SvelteKit', [changed('src/routes/shop/+page.svelte', 'added')], [at('/shop', null, '/shop')]],
    ['a page of Astro', [changed('src/pages/index.astro')], [at('/', '/', '/')]],
    ['a page with a parameter', [changed('app/user/[id]/page.tsx')], [at('/', '/', '/')]],
    ['a part of pages', [changed('app/parts/button.tsx')], [at('/', '/', '/')]],
    ['a layout', [changed('app/layout.tsx')], [at('/', '/', '/')]],
    ['nothing that is seen', [changed('src/server.ts'), changed('README.md'), changed('main.go')], []],
    ['a test of a part', [changed('src/button.test.tsx'), changed('src/__tests__/a.tsx')], []],
  ])('%s', (_, files, pages) => {
    expect(pagesOfApp(files)).toEqual(pages);
  });
});

function twice(address: string): [string, string] {
  return [address, address];
}
