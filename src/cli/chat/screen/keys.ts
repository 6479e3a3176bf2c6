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

/** Actions of a person at the keyboard. */
interface KeyListener {
  /** text to insert: a typed character, or a whole paste */
  text(text: string): void;
  key(key: Key): void;
}

const PASTE_END = '\x1b[201~';
/** A paste has no pauses. What comes later is typed, and the end of the paste was lost. */
const LOST_MS = 2_000;

/**
 * Reads keys until `stop`. With bracketed paste, each paste arrives as one text, whatever its chunks; Node joins
 * characters and escape sequences. A paste is cleaned, because it must not control the terminal.
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
      // Node gives up on a sequence whose rest is late; then its characters come one by one
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
  !key.ctrl &&
  !key.meta &&
  key.name !== 'return' &&
  key.name !== 'enter' &&
  character !== undefined &&
  /^[^\p{Cc}]+$/u.test(character);

const cleaned = (text: string): string => plain(text.normalize('NFC'));
