import type { Colors } from 'picocolors/types.js';
import { Editor } from './editor.ts';
import { type Key, readKeys } from './keys.ts';
import { LiveArea } from './live-area.ts';
import { goesOn, messageOf, nextLine } from './message.ts';
import { PROMPT, sentText } from './typed-rows.ts';
import type { Screen, ScreenOptions } from './types.ts';

const BRACKETED_PASTE = { on: '\x1b[?2004h', off: '\x1b[?2004l' };
const CLEAR = '\x1b[H\x1b[2J';

/** A terminal. What is finished scrolls up; the live area stays below it. */
export class TerminalScreen implements Screen {
  readonly interactive = true;
  readonly colors: Colors;
  readonly size: Screen['size'];
  private readonly options: ScreenOptions;
  private readonly editor: Editor;
  private readonly live: LiveArea;
  private readonly keys: { stop(): void };
  private closed = false;

  constructor(options: ScreenOptions, colors: Colors) {
    const { input, output } = options;
    this.options = options;
    this.colors = colors;
    this.editor = new Editor(options.history);
    this.live = new LiveArea(this.editor, colors);
    this.size = this.live.size;
    this.keys = readKeys(input, { key: (key) => this.press(key), text: (text) => this.paste(text) });
    // closing the window removes the terminal
    input.on('end', this.ended).on('close', this.ended).on('error', this.ended);
    output.on('resize', this.resized);
    input.setRawMode?.(true);
    input.resume();
    this.live.measure(output);
    output.write(BRACKETED_PASTE.on);
    this.draw();
  }

  print(text: string): void {
    this.draw(text);
  }

  partial(text: string): void {
    if (text === this.live.partial) return;
    this.live.partial = text;
    this.draw();
  }

  status(what: string, detail = ''): void {
    const line = what + detail;
    if (line === this.live.status) return;
    this.live.status = line;
    this.draw();
  }

  clearInput(): boolean {
    if (this.editor.text === '') return false;
    this.editor.set('');
    this.draw();
    return true;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    const { input, output } = this.options;
    this.keys.stop();
    input.off('end', this.ended).off('close', this.ended);
    output.off('resize', this.resized);
    output.write(`${this.live.erase()}${BRACKETED_PASTE.off}`);
    // a terminal that is gone has no mode to restore
    try {
      input.setRawMode?.(false);
    } catch {}
    input.pause();
  }

  private readonly ended = (): void => this.options.onEnd();

  private readonly resized = (): void => {
    this.live.resize(this.options.output);
    this.draw();
  };

  private draw(finished?: string): void {
    if (!this.closed) this.options.output.write(this.live.redraw(finished));
  }

  private press(key: Key): void {
    if (this.closed) return;
    const { editor, options } = this;
    // text typed before raw mode has line feeds, which the terminal made of Enter
    const enter = key.name === 'return' || key.name === 'enter';
    if (key.ctrl && key.name === 'c') options.onInterrupt();
    else if (key.ctrl && key.name === 'd' && editor.text === '') options.onEnd();
    else if (key.ctrl && key.name === 'l') this.clear();
    else this.edit(key, enter);
  }

  private edit(key: Key, enter: boolean): void {
    const { editor } = this;
    if (enter && key.meta) editor.insert('\n');
    else if (enter && editor.cursor === editor.text.length && goesOn(editor.text)) editor.set(nextLine(editor.text));
    else if (enter) this.send();
    else if (key.name === 'tab') editor.insert('\t');
    else editor.press(key);
    this.draw();
  }

  private paste(text: string): void {
    this.editor.insert(text);
    this.draw();
  }

  private send(): void {
    const text = messageOf(this.editor.take());
    // an empty line pushes away what was read
    this.draw(text === '' ? PROMPT : sentText(text));
    this.options.onMessage(text);
  }

  private clear(): void {
    this.options.output.write(CLEAR);
    this.live.forget();
    this.draw();
  }
}
