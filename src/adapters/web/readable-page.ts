/**
 * A web page as Markdown. The libraries that make it are loaded in the thread that does (`readable-thread.ts`), and
 * nowhere else.
 */
export interface ReadablePage {
  title: string;
  markdown: string;
}

/** Thrown when a selector is malformed or matches nothing; `message` is written for the model. */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SelectorError';
  }
}
