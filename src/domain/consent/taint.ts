import type { CallTaint, Sink, Source } from '../../contracts/taint.ts';
import { oneLine } from '../text/foreign-text.ts';
import { english, type Say } from '../texts/say.ts';

/** What a call sends out or keeps: the parts that must be the person's own words, or a link of a page that was read. */
export interface Sent {
  /** each must be in the person's words, or be a link in a page */
  urls?: readonly string[];
  /** each must be in what the person said in this turn */
  texts?: readonly string[];
}

/** A call as its tool declares it. */
export interface Effect {
  sends: readonly Sink[];
  /** null: the person's own words cannot justify this call */
  sent: Sent | null;
  /** always asks, whatever was read, and no grant covers it */
  always: boolean;
}

/** Facts about the context in which the model made a call. */
export interface Provenance {
  sources: readonly Source[];
  /** the person's own words in the whole context; used for addresses */
  words: readonly string[];
  /** the person's own words in this turn; used for everything else */
  wordsNow: readonly string[];
  /** normalised links of the pages that were read */
  links: ReadonlySet<string>;
  /** sinks that the person has allowed for this chat */
  grants: ReadonlySet<Sink>;
}

/**
 * Which sinks of a call a person must allow because of what the turn has read. It is pure, and independent of the table
 * of danger and autonomy: neither autonomy nor `yes all` changes it. Null: the call has no sink, or nothing was read
 * and nothing always asks.
 */
export function taintOf(effect: Effect, known: Provenance): CallTaint | null {
  if (effect.sends.length === 0) return null;
  const sources = [...known.sources];
  if (effect.always) return { sources, asks: [...effect.sends], each: true };
  if (sources.length === 0) return null;
  const asks = effect.sends.filter((sink) => !known.grants.has(sink));
  return { sources, asks: asks.length > 0 && effect.sent !== null && isOwn(effect.sent, known) ? [] : asks };
}

function isOwn({ urls = [], texts = [] }: Sent, { words, wordsNow, links }: Provenance): boolean {
  const written = urls.length > 0 ? urlsIn(words.join('\n'), true) : new Set<string>();
  const knownUrl = (url: string): boolean => {
    const normal = normalUrl(url);
    return normal !== null && (written.has(normal) || links.has(normal));
  };
  return urls.every(knownUrl) && texts.every((text) => standsIn(text, wordsNow));
}

/** Whether somebody said this, word for word. Case, punctuation and white space do not count. */
export function standsIn(text: string, said: readonly string[]): boolean {
  const wanted = plainWords(text);
  return wanted === '' ? text.trim() === '' : said.some((each) => ` ${plainWords(each)} `.includes(` ${wanted} `));
}

const plainWords = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();

/**
 * An address in the form in which two mentions are compared: without what HTTP ignores or treats alike. Null when it is
 * not a web address.
 */
export function normalUrl(url: string): string | null {
  const parsed = URL.parse(url.trim());
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return null;
  parsed.hash = '';
  return parsed.href;
}

/** Nobody writes a longer one into a sentence. */
const LONGEST_URL = 4000;
/** Characters that close a sentence behind an address: a bracket, a quote, a full stop. */
const MOST_ENDINGS = 8;
const CLOSING = /[.,;:!?)\]}'"*_>»”’]$/;

/** The addresses in a text, normalised. `bare`: `example.org/docs` counts too, because people write it so. */
export function urlsIn(text: string, bare = false): Set<string> {
  const found = new Set<string>();
  const add = (url: string): void => {
    // nothing tells where an address ends and the sentence goes on, so every possible ending counts
    for (
      let [rest, endings] = [url, 0];
      rest !== '' && endings <= MOST_ENDINGS;
      rest = rest.slice(0, -1), endings += 1
    ) {
      const normal = normalUrl(rest);
      if (normal !== null) found.add(normal);
      if (!CLOSING.test(rest)) break;
    }
  };
  for (const [url] of text.matchAll(/https?:\/\/[^\s<>"`\\]+/gi)) if (url.length <= LONGEST_URL) add(url);
  if (!bare) return found;
  for (const token of text.split(/\s+/)) {
    const word = token.replace(/^[([{<"'*_«“‘]+/, '');
    if (word.length > LONGEST_URL || word.includes('@') || !/^[a-z0-9-]+\.[a-z0-9.-]+(?:[:/?].*)?$/i.test(word))
      continue;
    add(`https://${word}`);
    add(`http://${word}`);
  }
  return found;
}

/** Each source is listed once. A summary may have many. */
const MOST_SOURCES = 40;

export function unionOf(...lists: ReadonlyArray<readonly Source[]>): Source[] {
  const byName = new Map<string, Source>();
  for (const source of lists.flat()) byName.set(`${source.kind}\n${source.label}`, source);
  return [...byName.values()].slice(0, MOST_SOURCES);
}

/** Why a person is asked, in a sentence; empty where the question itself says all. */
export function whyAsked({ sources, asks, each }: CallTaint, say: Say = english): string {
  // the question of a call that always asks names what it fetches, which may be a folder that the person wrote
  if (each && sources.length === 0)
    return asks.some((sink) => sink !== 'fetch' && sink !== 'settings' && sink !== 'browse') ? say('ask.anybody') : '';
  const shown = readIn(sources, say);
  const read = shown.length > 0 ? shown : [say('read.unknown')];
  return say('careful.read', { what: say.list(read), count: read.length });
}

const SOURCES_SHOWN = 3;
/** Labels of what a person's own message brought along. */
const BROUGHT = new Map<string, 'read.forwarded' | 'read.shared' | 'read.quoted' | 'read.bot'>([
  ['a forwarded message', 'read.forwarded'],
  ['a shared message', 'read.shared'],
  ['a quoted message', 'read.quoted'],
  ['a message of another bot', 'read.bot'],
]);
/** The label of a tool that names nothing that it reads. */
const TOOL_NAME = /^[a-z]+(?:_[a-z]+)+$/;

/** The sources that were read, the latest first. */
function readIn(sources: readonly Source[], say: Say): string[] {
  const words = sources.map(({ kind, label }) => {
    if (kind === 'page' && TOOL_NAME.test(label)) return say('read.aPage');
    const brought = kind === 'member' && BROUGHT.get(label);
    if (brought) return say(brought);
    if (kind === 'page' && /^(?!in )\S+ /.test(label)) return oneLine(label, 60);
    // only a page, a person and a program are named: other labels are paths, commands and names of tools
    return kind === 'page' || kind === 'member' || kind === 'client'
      ? say(`read.${kind}`, { name: oneLine(label, 60) })
      : say(`read.${kind}`);
  });
  return [...new Set(words.reverse())].slice(0, SOURCES_SHOWN);
}
