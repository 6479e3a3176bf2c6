import { emitKeypressEvents } from 'node:readline';
import { plain } from './text.ts';
import type { ScreenInput } from './types.ts';

export interface Key {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
  shift?: boolean;
  sequence?: string;
}

/** What a person does at the keyboard. */
export interface KeyListener {
  /** text to put in: a typed character, or all of a paste */
  text(text: string): void;
  key(key: Key): void;
}

const PASTE_END = '\x1b[201~';
/** A paste comes without a pause: what comes later is typed, and the end of the paste was lost. */
const LOST_MS = 2_000;

/**
 * Reads keys until `stop`. A terminal that brackets its pastes gives each of them as one text, however its bytes are cut into chunks; Node puts
 * characters and escape sequences together. A paste may not drive the terminal: it is cleaned.
 */
export function readKeys(input: ScreenInput, listener: KeyListener): { stop(): void } {
  let pasted: string | null = null;
  let lastAt = 0;
  const endPaste = (): void => {
    const text = cleaned(pasted ?? '');
    pasted = null;
    if (text !== '') listener.text(text);
  };
  const onKey = (character: string | undefined, key: Key) => {
    const now = performance.now();
    if (pasted !== null && now - lastAt > LOST_MS) endPaste();
    lastAt = now;
    if (pasted !== null) {
      if (key.name === 'paste-end') return endPaste();
      pasted += key.sequence ?? character ?? '';
      // Node gives up on a sequence whose rest comes late; then its characters come one by one
      if (pasted.endsWith(PASTE_END)) {
        pasted = pasted.slice(0, -PASTE_END.length);
        endPaste();
      }
      return;
    }
    if (key.name === 'paste-start') {
      pasted = '';
      return;
    }
    if (isText(character, key)) return listener.text(cleaned(character!));
    listener.key(key);
  };
  emitKeypressEvents(input);
  input.on('keypress', onKey);
  return { stop: () => void input.off('keypress', onKey) };
}

const isText = (character: string | undefined, key: Key): boolean =>
  !key.ctrl && !key.meta && key.name !== 'return' && key.name !== 'enter' && character !== undefined && /^[^\p{Cc}]+$/u.test(character);

const cleaned = (text: string): string => plain(text.normalize('NFC'));
