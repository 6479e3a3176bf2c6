import type { ScreenInput, ScreenOutput } from '../screen/types.ts';

/** An activity beside the chat, which /skip ends. */
export interface ChatOffer {
  pending(): boolean;
  /** the person has begun to write, so the offer is not repeated */
  hush(): void;
  skip(): Promise<void>;
}

export interface ChatOptions {
  /** of the runtime API, for example http://127.0.0.1:7878 */
  baseUrl: string;
  token: string;
  input?: ScreenInput;
  output?: ScreenOutput;
  /** the terminal has no escape sequences; by default as TERM says */
  dumb?: boolean;
  /** called once, when the chat has ended */
  onLeave?: () => void;
  /** folder of the history of typed lines; FETCH_HOME by default */
  home?: string;
  /** show what the model thinks, dimmed */
  reasoning?: boolean;
  /**
   * begins to link WhatsApp when the person asks for it; `print` writes above the line that is being typed, on a screen
   * of this size
   */
  offer?: (
    print: (text: string) => void,
    signal: AbortSignal,
    size: () => { columns: number; rows: number },
  ) => Promise<ChatOffer>;
  /** ends the chat from outside */
  signal?: AbortSignal;
}
