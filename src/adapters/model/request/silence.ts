import { MINUTE } from '../../../domain/time.ts';
import { ModelError } from '../model.ts';

/** How long an endpoint may be silent before a request is given up, in ms. */
export interface AnswerTimes {
  /**
   * until the first byte, and between two keep-alives before the first word: a local server may load a model and read a
   * long prompt for minutes, and some models think in silence
   */
  firstByte: number;
  /** between two parts of an answer */
  idle: number;
  /** with nothing but keep-alives, which OpenRouter and DeepSeek send while a request waits */
  signs: number;
  /** for the whole answer */
  whole: number;
}

export const ANSWER_TIMES: AnswerTimes = { firstByte: 300_000, idle: 90_000, signs: 600_000, whole: 25 * MINUTE };

/** Times of an endpoint that is given up after this much silence, so that a lost connection is retried within it. */
export const timesWithin = (silenceMs: number): AnswerTimes => ({
  ...ANSWER_TIMES,
  firstByte: silenceMs / 2,
  idle: Math.min(ANSWER_TIMES.idle, silenceMs / 2),
  signs: silenceMs,
});

/** Aborts the request with a ModelError when the endpoint is silent for too long. */
export class SilenceWatch {
  private readonly times: AnswerTimes;
  private readonly giveUp: (error: ModelError) => void;
  /** a part of the answer was there */
  private begun = false;
  private bytes: NodeJS.Timeout;
  private signs: NodeJS.Timeout;
  private readonly whole: NodeJS.Timeout;

  constructor(times: AnswerTimes, giveUp: (error: ModelError) => void) {
    this.times = times;
    this.giveUp = giveUp;
    this.bytes = this.timer(times.firstByte, 'no byte');
    this.signs = this.timer(times.signs, 'nothing but signs of life');
    this.whole = this.timer(times.whole, 'an answer that came in drips');
  }

  /** Bytes have come, perhaps only a keep-alive. */
  byte(): void {
    clearTimeout(this.bytes);
    this.bytes = this.timer(this.begun ? this.times.idle : this.times.firstByte, 'no byte');
  }

  /** A part of the answer has come. */
  part(): void {
    if (!this.begun) {
      this.begun = true;
      this.byte();
    }
    clearTimeout(this.signs);
    this.signs = this.timer(this.times.signs, 'nothing but signs of life');
  }

  stop(): void {
    for (const each of [this.bytes, this.signs, this.whole]) clearTimeout(each);
  }

  private timer(ms: number, what: string): NodeJS.Timeout {
    return setTimeout(() => {
      const said = `Network error: ${what} for ${Math.round(ms / 1000)} s`;
      this.giveUp(
        this.begun
          ? new ModelError('ModelStreamBroken', `${said} in the middle of an answer`)
          : new ModelError('ModelUnavailable', said, { silent: true }),
      );
    }, ms);
  }
}
