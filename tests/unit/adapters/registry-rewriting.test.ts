import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linksOf } from '../../../src/adapters/kennel/gate/cache/registries.ts';
import type { Marks } from '../../../src/adapters/kennel/gate/cache/request.ts';
import { type IndexAnswer, rewriterFor } from '../../../src/adapters/kennel/gate/cache/rewriters.ts';
import { originOf } from '../../../src/domain/tasks/registries/registry-cache.ts';
import { holds } from '../../support/property.ts';

const mark = 'a'.repeat(32);
const marks: Marks = { of: () => mark, isTrue: () => true };
const page = new URL('https://index.example/simple/left/');
const linksFrom = (found = page) => linksOf(marks, originOf(page)!, page, found);
const JSON_TYPE = 'application/vnd.pypi.simple.v1+json';
const ACCEPT = `${JSON_TYPE}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01`;
const files = `http://files.example.443.https.${mark}.index.example.443.https.fetch.internal`;

function rewritten(text: string, answer: Partial<IndexAnswer> = {}, found = page): string {
  const about = { url: page, accept: ACCEPT, type: 'text/html', ...answer };
  return rewriterFor(about)!.rewrite(text, linksFrom(found));
}
const config = new URL('https://index.example/config.json');

describe('an index that names files', () => {
  it('of pip leads to the cache, as HTML and as JSON', () => {
    const html = rewritten(
      '<!DOCTYPE html><html><body><a href="https://files.example/left-1.whl?x=1#sha256=2" data-yanked>left</a><a href="left-2.whl">2</a></body></html>',
    );
    expect(html).toContain(`href="${files}/left-1.whl?x=1#sha256=2"`);
    expect(html).toContain('href="left-2.whl"');
    const json = {
      meta: { 'api-version': '1.1' },
      files: [{ url: 'https://files.example/left-1.whl', hashes: {} }, { url: '../left-2.whl' }],
    };
    expect(JSON.parse(rewritten(JSON.stringify(json), { type: JSON_TYPE }))).toEqual({
      ...json,
      files: [{ url: `${files}/left-1.whl`, hashes: {} }, { url: '../left-2.whl' }],
    });
  });

  it('of pip has a base, or is somewhere else than it was asked for', () => {
    const based = rewritten('<base href="https://files.example/packages/"><a href="left-1.whl">left</a>');
    expect(based).toContain(`href="${files}/packages/"`);
    expect(based).toContain('href="left-1.whl"');
    expect(rewritten('<a href="left-1.whl">left</a>', {}, new URL('https://files.example/simple/left/'))).toContain(
      `href="${files}/simple/left/left-1.whl"`,
    );
    expect(rewritten('<a href="https://index.example/left-1.whl">left</a>')).toContain(
      'href="http://index.example.443.https.fetch.internal/left-1.whl"',
    );
  });

  it('of cargo leads to the cache with its markers', () => {
    const text = '{"dl":"https://files.example/crates/{crate}/{version}","api":"https://index.example"}';
    expect(JSON.parse(rewritten(text, { url: config, type: 'application/json' }))).toEqual({
      dl: `${files}/crates/{crate}/{version}`,
      api: 'https://index.example',
    });
  });

  it('is left as it is where nothing of it is an index', () => {
    for (const text of [
      '',
      '{',
      '[]',
      'null',
      '{"dl":1}',
      '{"dl":"file:///etc/passwd"}',
      '{"dl":"https://user:word@files.example/"}',
      '{"dl":"https://user:80@files.example/"}',
      '{"dl":"https://{crate}.example/x"}',
    ])
      expect(rewritten(text, { url: config, type: 'application/json' })).toBe(text);
    for (const text of [
      '',
      '{',
      '{"files":{}}',
      '<a>',
      '<a href="mailto:a@b.example">',
      '<a href="http://[::1]/x">',
      '<a href="https://u:p@files.example/x">',
    ])
      expect(rewritten(text)).toBe(text);
    expect(rewriterFor({ url: page, accept: '*/*', type: 'text/html' })).toBeUndefined();
  });

  it('never fails, whatever it has, and leads nowhere but to the cache or where it led before', () => {
    const value = fc.oneof(
      fc.webUrl(),
      fc.string(),
      fc.constantFrom('//files.example/x', 'javascript:1', 'https://files.example', '\\\\files.example\\x'),
    );
    holds(
      fc.property(fc.array(value), fc.jsonValue(), (urls, other) => {
        const found = JSON.parse(
          rewritten(JSON.stringify({ files: [...urls.map((url) => ({ url })), other] }), { type: JSON_TYPE }),
        );
        urls.forEach((url, at) => {
          if (found.files[at].url !== url)
            expect(new URL(found.files[at].url).hostname.endsWith('.fetch.internal')).toBe(true);
        });
        rewritten(urls.map((url) => `<a href="${url}">`).join('<p>'));
        rewritten(JSON.stringify({ dl: urls[0], other }), { url: config, type: 'application/json' });
      }),
    );
  });
});
