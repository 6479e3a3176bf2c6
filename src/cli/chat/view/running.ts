import { elapsed } from '../screen/text.ts';

/** The running work of a thread, from its events, for one status line. Times are ms since the epoch. */
export class Running {
  readonly turns = new Map<string, number>();
  readonly #tools = new Map<string, { label: string; turnId: string; since: number }>();
  readonly #questions = new Map<string, { turnId: string; at: number }>();
  #step = 0;

  startTurn(turnId: string, at: number): void {
    this.turns.set(turnId, at);
    this.#step = at;
  }
  endTurn(turnId: string): void {
    this.turns.delete(turnId);
    for (const [id, tool] of this.#tools) if (tool.turnId === turnId) this.#tools.delete(id);
    for (const [id, asked] of this.#questions) if (asked.turnId === turnId) this.#questions.delete(id);
  }
  startTool(itemId: string, tool: { label: string; turnId: string; since: number }): void {
    this.#tools.set(itemId, tool);
  }
  /** Ends a tool; returns when it started, or would have without the time that it waited for the person. */
  endTool(itemId: string, at: number): number | undefined {
    const since = this.#tools.get(itemId)?.since;
    this.#tools.delete(itemId);
    this.#step = at;
    return since;
  }
  ask(questionId: string, turnId: string, at: number): void {
    this.#questions.set(questionId, { turnId, at });
  }
  decide(questionId: string, at: number): void {
    const asked = this.#questions.get(questionId);
    this.#questions.delete(questionId);
    for (const tool of this.#tools.values())
      if (tool.turnId === asked?.turnId) tool.since += Math.max(0, at - Math.max(asked.at, tool.since));
    this.#step = at;
  }
  get isAsked(): boolean {
    return this.#questions.size > 0;
  }
  isOpen(questionId: string): boolean {
    return this.#questions.has(questionId);
  }

  /** The running work, and the part of the line that changes every second. */
  status(now: number): { what: string; detail?: string } {
    // a coding task asks without a running turn
    if (this.#questions.size > 0) return { what: 'waiting for your answer' };
    if (this.turns.size === 0) return { what: '' };
    const tools = [...this.#tools.values()];
    const since = tools.length > 0 ? Math.min(...tools.map((tool) => tool.since)) : this.#step;
    return { what: toolsText(tools) || 'thinking', detail: `, ${elapsed(now - since)} · Ctrl-C interrupts` };
  }
}

function toolsText(tools: Array<{ label: string }>): string {
  if (tools.length === 0) return '';
  const more = tools.length > 2 ? ` and ${tools.length - 2} more` : '';
  const named = tools.slice(0, 2).map(({ label }) => label);
  return `${named.join(', ')}${more}`;
}
