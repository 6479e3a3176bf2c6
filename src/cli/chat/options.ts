import type { ScreenInput, ScreenOutput } from './screen/types.ts';

/** Something that goes on beside the chat and can be left with /skip. */
export interface ChatOffer {
  pending(): boolean;
  /** the person has begun to write: what was offered is not shown again and again */
  hush(): void;
  skip(): Promise<void>;
}

export interface ChatOptions {
  /** of the runtime API, for example http://127.0.0.1:7878 */
  baseUrl: string;
  token: string;
  input?: ScreenInput;
  output?: ScreenOutput;
  /** a terminal that knows no escape sequences; as TERM says by default */
  dumb?: boolean;
  /** called once, when the chat has ended */
  onLeave?: () => void;
  /** where the history of typed lines lies; FETCH_HOME by default */
  home?: string;
  /** show what the model thinks, dimmed */
  reasoning?: boolean;
  /** begins to link WhatsApp, when the person asks for it; `print` writes above the line that is being typed, on a screen of this size */
  offer?: (print: (text: string) => void, signal: AbortSignal, size: () => { columns: number; rows: number }) => Promise<ChatOffer>;
  /** ends the chat from outside */
  signal?: AbortSignal;
}
