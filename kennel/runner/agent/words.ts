/** Words of a person that wait for the end of the agent's turn. Each counts once. */
export class WordsToAgent {
  private readonly known: Set<string>;
  private waiting: Array<{ id: string; text: string }> = [];

  /** `known`: ids of words that the first prompt has. */
  constructor(known: readonly string[] = []) {
    this.known = new Set(known);
  }

  add(id: string, text: string): void {
    if (this.known.has(id)) return;
    this.known.add(id);
    this.waiting.push({ id, text });
  }

  /** Everything that waits, as one prompt; null when nothing does. */
  take(): { ids: string[]; text: string } | null {
    if (this.waiting.length === 0) return null;
    const taken = this.waiting;
    this.waiting = [];
    return { ids: taken.map(({ id }) => id), text: taken.map(({ text }) => text).join('\n\n') };
  }
}
