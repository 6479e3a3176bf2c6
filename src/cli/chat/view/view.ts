import type { PendingApproval, PendingUserInput, ThreadDetail } from '../../../client/api-client.ts';
import type { EventEnvelope, ItemRecord, TurnRecord } from '../../../contracts/records.ts';
import { isCorrected, stepInWords } from '../../../domain/chat/words/step-words.ts';
import { MINUTE, SECOND } from '../../../domain/time.ts';
import { sentText } from '../screen/editor.ts';
import { callInWords, elapsed, oneLine, plain, styledText } from '../screen/text.ts';
import type { Screen } from '../screen/types.ts';
import { AnswerStream } from './answer.ts';
import { clock, collapsed, type PastMessage, saidIn, whenTold } from './past.ts';
import { approvalText, isOfTask, questionText, says } from './question.ts';
import { Running } from './running.ts';

/** How long the event of a message from this terminal is awaited; ms. */
const ECHO_MS = 60_000;
const RECENT_ITEMS = 6;
/** messages that came while no terminal was open; equal ones count once */
const MOST_FRESH = 30;
const KEPT_SAID = 40;
/** After this silence the next message is shown with its time; ms. */
const SILENCE_MS = 10 * MINUTE;

/** The answer of a command comes this soon after its step; ms. */
const HELD_MS = 500;
const MOST_COMPARED = 5_000;

/** Turns the events of a thread into text for a person. */
export class ChatView {
  readonly running = new Running();
  /** counts what a person waits for: answers, questions, ends of turns */
  progress = 0;
  readonly #screen: Screen;
  readonly #answer: AnswerStream;
  /** shown questions, with the time by a clock that nobody can set */
  readonly #shown = new Map<string, number>();
  /** the latest messages of this chat window, whole, because a coding task's question is in one */
  #lastSaid: Array<{ turnId: string; text: string }> = [];
  /** when something last happened on the screen */
  #lookedAt = Date.now();
  #echoes: Array<{ text: string; until: number }> = [];
  /** turn whose answer was interrupted: the next answer in it starts over */
  #brokeOff: string | null = null;
  /** the line of a step that has just ended: an answer that says the same takes its place */
  #held: { result: string; line: string; at: number } | null = null;
  /** turn of which the screen has shown why it failed */
  #failedIn: string | null = null;

  constructor(screen: Screen, options: { reasoning?: boolean } = {}) {
    this.#screen = screen;
    this.#answer = new AnswerStream(screen, options.reasoning ?? false);
  }

  /** A message that was typed here is already on the screen. */
  expectEcho(text: string): void {
    this.#lookedAt = Date.now();
    this.#echoes.push({ text, until: Date.now() + ECHO_MS });
  }
  dropEcho(text: string): boolean {
    this.#echoes = this.#echoes.filter((echo) => echo.until > Date.now());
    const index = this.#echoes.findIndex((echo) => echo.text.trim() === text.trim());
    if (index >= 0) this.#echoes.splice(index, 1);
    return index >= 0;
  }

  /** Shows the end of the past, what came while no terminal was open, what runs, and what waits for an answer. */
  attach(detail: ThreadDetail, seenAt: number | null = null): void {
    if (this.#screen.interactive) this.#past(saidIn(detail.items), seenAt ?? Number.POSITIVE_INFINITY);
    for (const turn of detail.turns) if (isRunning(turn)) this.running.startTurn(turn.id, timeOf(turn.started_at));
    for (const item of detail.items) {
      if (item.status !== 'in_progress' || !this.running.turns.has(item.turn_id) || !isTool(item)) continue;
      this.running.startTool(item.id, {
        label: oneLine(stepInWords(item.summary), 60),
        turnId: item.turn_id,
        since: timeOf(item.started_at),
      });
    }
    const turnId = [...this.running.turns.keys()].at(-1) ?? '';
    for (const input of detail.pending_user_inputs ?? []) this.#question(input, turnId);
    for (const approval of detail.pending_approvals ?? []) this.#question(approval, turnId);
    this.#lookedAt = Date.now();
    this.tick();
  }

  #past(said: readonly PastMessage[], seenAt: number): void {
    const { dim, red } = this.#screen.colors;
    const style = {
      person: (text: string) => dim(sentText(text)),
      agent: (text: string) => styledText(text, this.#screen.colors),
      note: dim,
      error: red,
    };
    const before = said.filter(({ at, by }) => at <= seenAt && (by === 'person' || by === 'agent'));
    for (const { by, text } of before.slice(-RECENT_ITEMS)) this.#screen.print(style[by](shorten(text)));
    const fresh = collapsed(said.filter(({ at }) => at > seenAt));
    if (fresh.length === 0) return;
    const more = fresh.length - MOST_FRESH;
    this.note(more > 0 ? `── while you were away (${more} more before these) ──` : '── while you were away ──');
    for (const told of fresh.slice(-MOST_FRESH))
      this.#screen.print(`${dim(`${whenTold(told, Date.now())}:`)}\n${style[told.by](shorten(told.text))}`);
    this.note('──');
  }

  /** The open questions on the screen, and for how long: a bare yes is about these. */
  displayed(): Array<{ id: string; ms: number }> {
    return [...this.#shown]
      .filter(([id]) => this.running.isOpen(id))
      .map(([id, at]) => ({ id, ms: Math.round(performance.now() - at) }));
  }

  tick(): void {
    if (this.#held && Date.now() - this.#held.at > HELD_MS) this.#release();
    const { what, detail } = this.#answer.active ? { what: '' } : this.running.status(Date.now());
    this.#screen.status(what, detail);
  }
  note(text: string): void {
    this.#screen.print(this.#screen.colors.dim(text));
  }
  problem(text: string): void {
    this.#screen.print(this.#screen.colors.red(text));
  }

  handle(event: EventEnvelope): void {
    const payload = event.payload as Payload;
    const turnId = event.turn_id ?? '';
    const now = timeOf(event.timestamp);
    const isAnswer = payload.item?.kind === 'agent_message';
    if (!isAnswer) this.#release();
    switch (event.event) {
      case 'turn.started':
        if (payload.turn && isRunning(payload.turn)) this.running.startTurn(turnId, now);
        break;
      case 'turn.completed':
        this.#endTurn(turnId, payload.turn);
        break;
      case 'item.started':
        if (payload.item) this.#started(payload.item, payload.tool, turnId, now);
        break;
      case 'item.delta':
        if (payload.kind === 'agent_message' || payload.kind === 'agent_reasoning')
          this.#answer.delta(event.item_id ?? '', payload.kind, payload.delta ?? '');
        break;
      case 'item.completed':
      case 'item.failed':
      case 'item.interrupted':
        if (payload.item) this.#ended(payload.item, turnId, now);
        break;
      case 'user_input.required':
        if (payload.id && payload.request) this.#question({ id: payload.id, request: payload.request }, turnId, now);
        break;
      case 'approval.required':
        if (payload.id) this.#question(payload as unknown as PendingApproval, turnId, now);
        break;
      case 'user_input.answered':
        this.running.decide(payload.input_id ?? '', now);
        break;
      case 'user_input.canceled':
        if (this.running.isOpen(payload.id ?? '') && payload.terminal === 'expired')
          this.note('(the question has expired)');
        this.running.decide(payload.id ?? '', now);
        break;
      case 'approval.decided':
        this.note(payload.decision === 'allow' ? '(approved)' : '(denied)');
        this.running.decide(payload.approval_id ?? '', now);
        break;
      case 'approval.timeout':
        this.note('(nobody answered in time: denied)');
        this.running.decide(payload.approval_id ?? '', now);
        break;
    }
    this.tick();
  }

  #started(item: ItemRecord, tool: Payload['tool'], turnId: string, now: number): void {
    if (item.kind === 'agent_message') {
      if (this.#answer.breakOff(item.id) || this.#brokeOff === turnId) this.note('(starting over)');
      this.#brokeOff = null;
    } else if (isTool(item)) {
      const label = tool?.name ? callInWords(tool.name, tool.input) : oneLine(stepInWords(item.summary), 60);
      this.running.startTool(item.id, { label, turnId, since: now });
    }
  }

  /** Shows the time of a message at an open terminal, unless it is part of a conversation. */
  #markTime(at: number): void {
    if (this.#screen.interactive && Date.now() - this.#lookedAt > SILENCE_MS) this.note(`${clock(at, Date.now())}:`);
    this.#lookedAt = Date.now();
  }

  #ended(item: ItemRecord, turnId: string, now: number): void {
    const text = item.detail ?? item.summary;
    const { dim, yellow } = this.#screen.colors;
    if (!isTool(item)) this.#markTime(now);
    if (item.kind === 'user_message') {
      if (!this.dropEcho(text)) this.#screen.print(dim(sentText(plain(text))));
    } else if (item.kind === 'agent_message') {
      if (item.status === 'completed') {
        this.#release(text);
        this.#answer.complete(item.id, text);
        this.#lastSaid = [...this.#lastSaid.slice(1 - KEPT_SAID), { turnId, text }];
        this.progress++;
      } else if (this.#answer.breakOff(item.id)) this.#brokeOff = turnId;
    } else if (item.kind === 'agent_reasoning') {
      this.#answer.endReasoning(item.id);
    } else if (item.kind === 'error') {
      this.problem(plain(text));
      this.#failedIn = turnId;
    } else if (item.kind === 'status') {
      // the end of the turn says it in our words
      if (text !== 'Request cancelled') this.note(plain(text));
    } else if (item.kind === 'context_compaction') {
      this.note(item.status === 'completed' ? '(older messages were summed up)' : '(summing up older messages failed)');
    } else {
      const since = this.running.endTool(item.id, now);
      const took = since === undefined || now - since < SECOND ? '' : `, ${elapsed(now - since)}`;
      if (!this.#screen.interactive || isCorrected(text)) return;
      const result = stepInWords(item.summary);
      const words = oneLine(result, 100).replace(/(?<![.:])[.:]+$/, '');
      const line =
        item.status === 'completed' ? dim(`  ✓ ${words}${took}`) : yellow(`  ✗ ${words} (${item.status}${took})`);
      this.#held = { result, line, at: Date.now() };
    }
  }

  /** Prints the line of the step that has just ended, unless the answer begins with its words. */
  #release(answer?: string): void {
    const held = this.#held;
    this.#held = null;
    if (!held) return;
    // a long summary was cut
    const words = oneLine(held.result, MOST_COMPARED).replace(/(?:\.{3}|…)$/, '');
    if (answer === undefined || !oneLine(answer, MOST_COMPARED).startsWith(words)) this.#screen.print(held.line);
  }

  #endTurn(turnId: string, turn?: TurnRecord): void {
    this.running.endTurn(turnId);
    this.#brokeOff = null;
    this.progress++;
    if (turn?.status === 'interrupted' || turn?.status === 'canceled') this.note('Stopped. What was done is kept.');
    // the line that says why has been shown
    if (turn?.status === 'failed' && this.#failedIn !== turnId)
      this.problem(plain(turn.error ? `This turn failed: ${turn.error}` : 'This turn failed.'));
  }

  #question(asked: PendingUserInput | PendingApproval, turnId: string, at = Date.now()): void {
    this.running.ask(asked.id, turnId, at);
    this.progress++;
    if (this.#shown.has(asked.id)) return;
    this.#shown.set(asked.id, performance.now());
    // a coding task sends its question as a message in its own turn, so it is not shown twice. A model's text never
    // hides a question
    if (isOfTask(asked) && this.#lastSaid.some((said) => said.turnId === turnId && says(said.text, asked))) return;
    const { colors } = this.#screen;
    this.#screen.print('request' in asked ? questionText(asked, colors) : approvalText(asked, colors));
  }
}

type Payload = {
  turn?: TurnRecord;
  item?: ItemRecord;
  tool?: { id?: string; name?: string; input?: unknown };
  id?: string;
  delta?: string;
  kind?: string;
  request?: PendingUserInput['request'];
  input_id?: string;
  approval_id?: string;
  decision?: string;
  terminal?: string;
};

const isRunning = (turn: TurnRecord): boolean => turn.status === 'in_progress' || turn.status === 'queued';
const isTool = (item: ItemRecord): boolean =>
  item.kind === 'tool_call' || item.kind === 'file_change' || item.kind === 'command_execution';
/** Never in the future, whatever the server's clock says. */
const timeOf = (at?: string): number => Math.min(Date.now(), (at && Date.parse(at)) || Date.now());

function shorten(text: string): string {
  const lines = text.trim().split('\n');
  const cut = lines.slice(0, 12).join('\n').slice(0, 1200);
  return cut.length < text.trim().length ? `${cut} …` : cut;
}
