/** A text with marks in it. A line that ends is `br`. */
export type Inline =
  | string
  | { type: 'strong' | 'em' | 'del'; children: Inline[] }
  | { type: 'code'; text: string }
  | { type: 'link'; href: string; children: Inline[] }
  | { type: 'image'; href: string; text: string }
  | { type: 'br' };

const DEEPEST = 5;
const LONGEST_LABEL = 1_000;
/** What may begin something. */
const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//g;
const ADDRESS = /https?:\/\/[^\s<>"`]{1,2000}/y;
const TARGET = /\]\(<?([^\s()<>]{0,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?)>?(?:[ \t]+"[^"\n]{0,200}")?\)/y;

const SPANS = [
  { open: '**', close: /(?<=[^\s*])\*\*/g, type: 'strong' },
  { open: '__', close: /(?<=[^\s_])__(?!\w)/g, type: 'strong' },
  { open: '~~', close: /(?<=\S)~~/g, type: 'del' },
  { open: '*', close: /(?<=[^\s*])\*(?!\*)/g, type: 'em' },
  { open: '_', close: /(?<=[^\s_])_(?!\w)/g, type: 'em' },
] as const;

export const inlineOf = (text: string): Inline[] => new Reader(text, 0).read();

class Reader {
  readonly #text: string;
  readonly #depth: number;
  readonly #out: Inline[] = [];
  /**
   * Where the next of each ending is. It is looked for once, so a text of a thousand beginnings is not read a thousand
   * times.
   */
  readonly #next = new Map<string, number>();
  #at = 0;

  constructor(text: string, depth: number) {
    this.#text = text;
    this.#depth = depth;
  }

  read(): Inline[] {
    const special = new RegExp(SPECIAL);
    while (this.#at < this.#text.length) {
      special.lastIndex = this.#at;
      const found = special.exec(this.#text);
      if (!found) break;
      this.#say(this.#text.slice(this.#at, found.index));
      this.#at = found.index;
      if (!this.#mark(found[0])) {
        this.#say(found[0]);
        this.#at += found[0].length;
      }
    }
    this.#say(this.#text.slice(this.#at));
    return this.#out;
  }

  /** Reads what begins here; false: it is only text. */
  #mark(special: string): boolean {
    if (special.startsWith('http')) return this.#address();
    if (special === '\n') return this.#take({ type: 'br' }, this.#at + 1);
    if (special === '\\') return this.#escape();
    if (special === '`') return this.#code();
    if (special === '[') return this.#link(this.#at, false);
    if (special === '!') return this.#text[this.#at + 1] === '[' && this.#link(this.#at + 1, true);
    if (special === '<') return this.#bracketed();
    return this.#span();
  }

  #say(text: string): void {
    const last = this.#out.at(-1);
    if (text === '') return;
    if (typeof last === 'string') this.#out[this.#out.length - 1] = last + text;
    else this.#out.push(text);
  }

  #take(inline: Inline, end: number): true {
    if (typeof inline === 'string') this.#say(inline);
    else this.#out.push(inline);
    this.#at = end;
    return true;
  }

  #inside(text: string): Inline[] {
    return this.#depth < DEEPEST ? new Reader(text, this.#depth + 1).read() : [text];
  }

  #escape(): boolean {
    const next = this.#text[this.#at + 1];
    return next !== undefined && /[!-/:-@[-`{-~]/.test(next) && this.#take(next, this.#at + 2);
  }

  #code(): boolean {
    const ticks = /`+/y;
    ticks.lastIndex = this.#at;
    const run = ticks.exec(this.#text)![0];
    const from = this.#at + run.length;
    const end = this.#find(run, new RegExp(`(?<!\`)${run}(?!\`)`, 'g'), from);
    if (end < 0) return this.#take(run, from);
    const text = this.#text.slice(from, end).replaceAll('\n', ' ');
    const padded = text.startsWith(' ') && text.endsWith(' ') && /[^ ]/.test(text);
    return this.#take({ type: 'code', text: padded ? text.slice(1, -1) : text }, end + run.length);
  }

  /** @param bracket where the label begins */
  #link(bracket: number, picture: boolean): boolean {
    const end = this.#find('](', /\]\(/g, bracket + 1);
    if (end < 0 || end - bracket > LONGEST_LABEL) return false;
    TARGET.lastIndex = end;
    const target = TARGET.exec(this.#text);
    if (!target) return false;
    const label = this.#text.slice(bracket + 1, end);
    const href = target[1]!;
    return this.#take(
      picture ? { type: 'image', href, text: label } : { type: 'link', href, children: this.#inside(label) },
      end + target[0].length,
    );
  }

  #bracketed(): boolean {
    const address = this.#addressAt(this.#at + 1);
    return (
      address !== null &&
      this.#text[this.#at + 1 + address.length] === '>' &&
      this.#take(linkTo(address), this.#at + address.length + 2)
    );
  }

  #address(): boolean {
    // what ends a sentence is not part of the address in it
    const address = this.#addressAt(this.#at)?.replace(/[.,:;!?'*_~]{1,20}$/, '');
    if (!address) return false;
    const open = address.split('(').length - address.split(')').length;
    const whole = open < 0 && address.endsWith(')') ? address.slice(0, -1) : address;
    return this.#take(linkTo(whole), this.#at + whole.length);
  }

  #addressAt(at: number): string | null {
    ADDRESS.lastIndex = at;
    return ADDRESS.exec(this.#text)?.[0] ?? null;
  }

  #span(): boolean {
    const before = this.#text[this.#at - 1] ?? ' ';
    for (const { open, close, type } of SPANS) {
      if (!this.#text.startsWith(open, this.#at)) continue;
      const from = this.#at + open.length;
      if (/\s/.test(this.#text[from] ?? ' ') || (open.startsWith('_') && /[\p{L}\p{N}]/u.test(before))) continue;
      const end = this.#find(open, close, from + 1);
      if (end < 0) continue;
      return this.#take({ type, children: this.#inside(this.#text.slice(from, end)) }, end + open.length);
    }
    // a run of marks that opens nothing is passed as a whole
    const run = /[*_~]+/y;
    run.lastIndex = this.#at;
    const text = run.exec(this.#text)![0];
    return this.#take(text, this.#at + text.length);
  }

  /** The first ending from there on; -1 for none. */
  #find(name: string, pattern: RegExp, from: number): number {
    const known = this.#next.get(name);
    if (known !== undefined && (known < 0 || known >= from)) return known;
    pattern.lastIndex = from;
    const found = pattern.exec(this.#text)?.index ?? -1;
    this.#next.set(name, found);
    return found;
  }
}

const linkTo = (address: string): Inline => ({ type: 'link', href: address, children: [address] });
