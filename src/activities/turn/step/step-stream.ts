import { InternalFilter } from '../../../domain/text/internal.ts';
import { derivedId } from '../../../store/chats/ids.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { StreamedItem } from './streamed-item.ts';

type Kind = 'agent_message' | 'agent_reasoning';

/**
 * What a model says and thinks in one attempt of a step, as screens see it: each thought is its own item, then the
 * answer.
 */
export class StepStream {
  readonly #db: Db;
  readonly #at: { turnId: string; threadId: string };
  readonly #key: readonly (string | number)[];
  readonly #text: StreamedItem;
  #thoughts = 0;
  /** white space before the first word; an answer of nothing else is shown to nobody */
  #blank = '';
  #reasoning: StreamedItem;
  readonly #hidden: InternalFilter | null;

  /**
   * @param key identifies this attempt: each attempt streams under its own items
   * @param hides a schedule began the turn, so its answer may have parts that are for nobody
   */
  constructor(
    db: Db,
    at: { turnId: string; threadId: string },
    key: readonly (string | number)[],
    { hides }: { hides: boolean },
  ) {
    this.#db = db;
    this.#at = at;
    this.#key = key;
    this.#hidden = hides ? new InternalFilter() : null;
    this.#text = this.#item('agent_message', 'say');
    this.#reasoning = this.#item('agent_reasoning', 'reason', this.#thoughts);
  }

  add(kind: Kind, part: string): void {
    if (kind === 'agent_reasoning') {
      this.#reasoning.add(part);
      return;
    }
    const text = this.#blank + (this.#hidden?.add(part) ?? part);
    this.#blank = this.#text.isEmpty && text.trim() === '' ? text : '';
    if (this.#blank) return;
    // a thought is over when the model speaks; a later one is another item
    this.#endThought();
    this.#text.add(text);
  }

  /** The model is asked once more, after an answer without a word. */
  again(): void {
    this.#hidden?.end();
    this.#blank = '';
    this.#endThought();
  }

  #endThought(): void {
    if (this.#reasoning.isEmpty) return;
    this.#text.after(this.#reasoning.end('completed'));
    this.#thoughts += 1;
    this.#reasoning = this.#item('agent_reasoning', 'reason', this.#thoughts);
  }

  async endReasoning(): Promise<void> {
    await this.#reasoning.end('completed');
  }

  /** The item of the answer, with the text that is not written yet. */
  async settle(): ReturnType<StreamedItem['settle']> {
    const held = this.#hidden?.end();
    if (held) this.#text.add(held);
    return await this.#text.settle();
  }

  /** Keeps what was streamed so far, as interrupted. */
  async interrupt(): Promise<void> {
    await Promise.all([this.#text.end('interrupted'), this.#reasoning.end('interrupted')]);
  }

  #item(kind: Kind, ...part: (string | number)[]): StreamedItem {
    return new StreamedItem(this.#db, { ...this.#at, id: derivedId('item_', ...this.#key, ...part), kind });
  }
}
