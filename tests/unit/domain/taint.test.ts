import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SINKS, SOURCE_KINDS } from '../../../src/contracts/taint.ts';
import {
  type Effect,
  normalUrl,
  type Provenance,
  standsIn,
  taintOf,
  unionOf,
  urlsIn,
  whyAsked,
} from '../../../src/domain/consent/taint.ts';
import { tools } from '../../../src/tools/registry.ts';
import { holds } from '../../support/property.ts';

const page = { kind: 'page' as const, label: 'example.org' };
const clean: Provenance = { sources: [], words: [], wordsNow: [], links: new Set(), grants: new Set() };
const tainted = (more: Partial<Provenance> = {}): Provenance => ({ ...clean, sources: [page], ...more });
const fetching = (...urls: string[]): Effect => ({ sends: ['fetch'], sent: { urls }, always: false });
const pushing: Effect = { sends: ['push'], sent: null, always: false };

describe('what a turn has read', () => {
  it('changes nothing while it has read nothing of others, nor for a call without a sink', () => {
    expect(taintOf(pushing, clean)).toBeNull();
    expect(taintOf({ sends: [], sent: null, always: false }, tainted())).toBeNull();
  });

  it('lets every sink ask that is not granted, whatever was read', () => {
    for (const kind of SOURCE_KINDS)
      for (const sink of SINKS) {
        const known = { ...clean, sources: [{ kind, label: 'x' }] };
        expect(taintOf({ sends: [sink], sent: null, always: false }, known)?.asks).toEqual([sink]);
        expect(
          taintOf({ sends: [sink], sent: null, always: false }, { ...known, grants: new Set([sink]) })?.asks,
        ).toEqual([]);
      }
  });

  it('never covers what asks always, by a grant or by having read nothing', () => {
    const publishing: Effect = { sends: ['publish'], sent: null, always: true };
    expect(taintOf(publishing, clean)?.asks).toEqual(['publish']);
    expect(taintOf(publishing, tainted({ grants: new Set(SINKS) }))?.asks).toEqual(['publish']);
  });

  it('is named once for each source', () => {
    expect(unionOf([page], [page, { kind: 'file', label: 'a' }])).toEqual([page, { kind: 'file', label: 'a' }]);
  });
});

describe('an address', () => {
  const asks = (url: string, known: Partial<Provenance>) => taintOf(fetching(url), tainted(known))?.asks;

  it.each([
    ['https://example.org/docs', 'Read https://example.org/docs, please.'],
    ['https://EXAMPLE.org/docs#part', '(see https://example.org/docs)'],
    ['https://example.org/', 'what does example.org say?'],
    ['http://example.org:8080/a?b=c', 'http://example.org:8080/a?b=c'],
    ['https://en.example.org/wiki/A_(b)', 'https://en.example.org/wiki/A_(b)'],
  ])('%s is the person’s own in "%s"', (url, said) => {
    expect(asks(url, { words: [said] })).toEqual([]);
  });

  it.each([
    ['https://example.org/docs?secret=1', 'Read https://example.org/docs, please.'],
    ['https://example.org/docs/secret', 'Read https://example.org/docs, please.'],
    ['https://example.org.evil.test/docs', 'Read https://example.org/docs, please.'],
    ['https://user:secret@example.org/docs', 'Read https://example.org/docs, please.'],
    ['https://example.org/?q=b', 'Read https://example.org/?q=a, please.'],
    ['https://example.org/DOCS', 'Read https://example.org/docs, please.'],
    ['https://secret.example.org/', 'Read https://example.org/ please'],
    ['https://example.org/docs', 'Read the docs of example'],
  ])('%s is not the person’s own in "%s"', (url, said) => {
    expect(asks(url, { words: [said] })).toEqual(['fetch']);
  });

  it('may be a link of a page that was read, and only exactly', () => {
    const links = urlsIn('See [more](https://example.org/next?page=2) and <https://other.test/a>.');
    expect(asks('https://example.org/next?page=2', { links })).toEqual([]);
    expect(asks('https://other.test/a', { links })).toEqual([]);
    expect(asks('https://example.org/next?page=2&secret=1', { links })).toEqual(['fetch']);
    expect(asks('https://example.org/next', { links })).toEqual(['fetch']);
  });

  it('with anything added to it is never one that stands in a text', () => {
    holds(
      fc.property(fc.webUrl({ withQueryParameters: true }), fc.stringMatching(/^[a-z0-9]{1,20}$/), (url, secret) => {
        const known = urlsIn(`Look at ${url} now`);
        for (const longer of [
          `${url}${url.includes('?') ? '&' : '?'}s=${secret}`,
          `https://${secret}.${url.slice(url.indexOf('://') + 3)}`,
        ])
          expect(known.has(normalUrl(longer) ?? '')).toBe(false);
        expect(known.has(normalUrl(url) ?? 'none')).toBe(true);
      }),
    );
  });
});

describe('a text', () => {
  it('is the person’s own when they have said it word for word in this turn', () => {
    expect(standsIn('Fix the failing test', ['in demo: fix the\nfailing test!'])).toBe(true);
    expect(standsIn('fix the failing test and push it', ['fix the failing test'])).toBe(false);
    expect(standsIn('fix', ['prefix it'])).toBe(false);
    expect(standsIn('', ['anything'])).toBe(true);
    expect(standsIn('🗑', ['delete 🗑'])).toBe(false);
    expect(standsIn('build it', ['build', 'it'])).toBe(false);
  });

  it('of others is not, whatever the person has said besides', () => {
    const giving: Effect = { sends: ['task'], sent: { texts: ['upload the keys'] }, always: false };
    expect(taintOf(giving, tainted({ words: ['upload the keys'], wordsNow: ['read the page'] }))?.asks).toEqual([
      'task',
    ]);
  });
});

it('a question names what was read in words', () => {
  const asked = (label: string) => whyAsked({ sources: [{ kind: 'page', label }], asks: ['command'] });
  expect(asked('example.com')).toContain('I have just read the page example.com, and');
  expect(asked('in the browser')).toContain('I have just read the page in the browser, and');
  expect(asked('issues of the workspace')).toContain('I have just read issues of the workspace, and');
  expect(asked('github_pr_create')).toContain('I have just read a page, and');
  const said = (label: string) => whyAsked({ sources: [{ kind: 'member', label }], asks: ['command'] });
  expect(said('a forwarded message')).toContain('I have just read a forwarded message, and');
  expect(said('Ann')).toContain('I have just read the words of Ann, and');
});

it('every tool says what it reads and where it sends', () => {
  for (const { name, reads, sends, sent } of tools.values()) {
    expect(Array.isArray(reads) && reads.every((kind) => SOURCE_KINDS.includes(kind)), name).toBe(true);
    expect(Array.isArray(sends) && sends.every((sink) => SINKS.includes(sink)), name).toBe(true);
    expect(sent === undefined || sends.length > 0, name).toBe(true);
  }
});
