import { wholePairs } from '../../../domain/text/storable.ts';
import { onThread, type ThreadTransaction } from '../../../store/chats/thread-transaction.ts';
import { addItem, deltaEvent, endItem, isItemOpen } from '../../../store/chats/threads/items.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { isTurnRunning } from '../../../store/turns/turns.ts';

/**
 * How often text is written to the screens' log: often enough to look alive, and a long answer still costs only a few
 * rows a second.
 */
const FLUSH_MS = 80;

/**
 * Streams a model's text to those who watch, through the event log and never through Temporal. A short answer that is
 * complete before the first flush costs nothing here: it is written with the answer itself.
 */
export class StreamedItem {
  readonly #db: Db;
  readonly #item: { id: string; turnId: string; threadId: string; kind: 'agent_message' | 'agent_reasoning' };
  #pending = '';
  #begun = false;
  #text = '';
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #error: unknown;

  constructor(
    db: Db,
    item: { id: string; turnId: string; threadId: string; kind: 'agent_message' | 'agent_reasoning' },
  ) {
    this.#db = db;
    this.#item = item;
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }

  add(text: string): void {
    this.#pending += text;
    this.#text += text;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writing
        .then(() => this.#flush())
        .catch((error) => {
          this.#error = error;
        });
    }, FLUSH_MS);
  }

  /** Writes nothing before `previous` is done: a thought must end on screens before the answer begins. */
  after(previous: Promise<void>): void {
    this.#writing = Promise.all([this.#writing, previous]).then(
      () => {},
      (error) => {
        this.#error = error;
      },
    );
  }

  /** Stops writing, and returns the text that is not written yet. Throws when a write failed. */
  async settle(): Promise<{ id: string; begun: boolean; rest: string }> {
    clearTimeout(this.#timer);
    await this.#writing;
    if (this.#error) throw this.#error;
    return { id: this.#item.id, begun: this.#begun, rest: this.#pending };
  }

  /** Ends the item where nothing else will: reasoning, or an answer that broke off. */
  async end(status: 'completed' | 'interrupted'): Promise<void> {
    await this.settle();
    if (!this.#text) return;
    await onThread(this.#db, this.#item.threadId, async (tx) => {
      await this.#write(tx, this.#pending);
      await endItem(tx, this.#item.id, { status, summary: this.#text, detail: this.#text });
    });
  }

  async #flush(): Promise<void> {
    // a model may send the halves of an emoji apart, and each alone would be lost
    const text = wholePairs(this.#pending);
    if (text) await onThread(this.#db, this.#item.threadId, (tx) => this.#write(tx, text));
  }

  async #write(tx: ThreadTransaction, text: string): Promise<void> {
    this.#pending = this.#pending.slice(text.length);
    if (this.#begun) {
      // the item was ended from outside (a stop, a newer attempt); on screens later text would look as if it went on
      if (!(await isItemOpen(tx.now, this.#item.id))) return;
    } else {
      // an attempt that outlived its turn must not open an item that nobody closes
      if (!(await isTurnRunning(tx.now, this.#item.turnId))) return;
      await addItem(tx, { ...this.#item, status: 'in_progress', summary: '', detail: '' });
    }
    this.#begun = true;
    if (text) tx.append(deltaEvent(this.#item, text));
  }
}
