import { isFence, plain, styledText, styleLine } from '../screen/text.ts';
import type { Screen } from '../screen/types.ts';

const LIVE_CHARACTERS = 600;

/**
 * The answer that is being written. Finished lines scroll up and the last one stays live, so that typed text is never
 * torn. A completed item has the whole text, which fills in what was missed of the stream.
 */
export class AnswerStream {
  readonly #screen: Screen;
  readonly #reasoning: boolean;
  #itemId: string | null = null;
  /** everything received, unchanged, to compare with the completed text */
  #raw = '';
  #rest = '';
  #fence = false;
  #thought = '';

  constructor(screen: Screen, reasoning: boolean) {
    this.#screen = screen;
    this.#reasoning = reasoning;
  }

  get active(): boolean {
    return this.#itemId !== null;
  }

  delta(itemId: string, kind: 'agent_message' | 'agent_reasoning', delta: string): void {
    if (kind === 'agent_reasoning') {
      if (!this.#reasoning) return;
      this.#thought += plain(delta);
      const lines = this.#thought.split('\n');
      this.#thought = lines.pop()!;
      for (const line of lines) this.#screen.print(this.#screen.colors.dim(line));
      return;
    }
    // without a terminal nothing can be taken back, so only a complete answer is shown
    if (!this.#screen.interactive) return;
    if (this.#itemId !== null && this.#itemId !== itemId) return;
    this.#itemId = itemId;
    this.#raw += delta;
    this.#write(plain(delta));
    // a paragraph taller than the terminal cannot be redrawn, so its end is shown until the line is finished
    const tail = this.#rest.length > LIVE_CHARACTERS ? `…${this.#rest.slice(-LIVE_CHARACTERS)}` : this.#rest;
    this.#screen.partial(styleLine(tail, this.#fence, this.#screen.colors));
  }

  endReasoning(_itemId: string): void {
    if (this.#thought !== '') this.#screen.print(this.#screen.colors.dim(this.#thought));
    this.#thought = '';
  }

  complete(itemId: string, text: string): void {
    if (this.#itemId === itemId && text.startsWith(this.#raw)) {
      this.#write(plain(text.slice(this.#raw.length)));
      this.#flush();
      return;
    }
    if (this.#itemId === itemId) this.#flush();
    this.#screen.print(styledText(plain(text).trimEnd(), this.#screen.colors));
  }

  /** Ends an interrupted answer; true when part of it was shown. */
  breakOff(itemId: string): boolean {
    if (this.#itemId !== itemId) return false;
    this.#flush();
    return true;
  }

  #write(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    if (lines.length > 0) this.#screen.print(lines.map((line) => this.#style(line)).join('\n'));
  }

  #style(line: string): string {
    const styled = styleLine(line, this.#fence, this.#screen.colors);
    if (isFence(line)) this.#fence = !this.#fence;
    return styled;
  }

  #flush(): void {
    this.#screen.partial('');
    if (this.#rest !== '') this.#screen.print(this.#style(this.#rest));
    this.#itemId = null;
    this.#raw = '';
    this.#rest = '';
    this.#fence = false;
  }
}
