import type { EventEnvelope, ItemRecord, TurnRecord } from '../contracts/records.ts';
import type { PendingApproval, PendingUserInput, ThreadDetail } from './api-client.ts';
import { AnswerStream } from './chat-answer.ts';
import { Running } from './chat-running.ts';
import type { Screen } from './chat-screen.ts';
import { elapsed, gist, oneLine, plain } from './chat-text.ts';

/** How long a message of this terminal is expected to come back as an event; ms. */
const ECHO_MS = 60_000;
const RECENT_ITEMS = 6;

/** Turns the events of a thread into what a person reads. */
export class ChatView {
  readonly running = new Running();
  /** counts what a person was waiting for: answers, questions, ends of turns */
  progress = 0;
  readonly #screen: Screen;
  readonly #answer: AnswerStream;
  readonly #shown = new Set<string>();
  #echoes: Array<{ text: string; until: number }> = [];
  /** turn whose answer broke off: the next one in it starts over */
  #brokeOff: string | null = null;

  constructor(screen: Screen, options: { reasoning?: boolean } = {}) {
    this.#screen = screen;
    this.#answer = new AnswerStream(screen, options.reasoning ?? false);
  }

  /** A message that was typed here is on the screen already. */
  expectEcho(text: string): void {
    this.#echoes.push({ text, until: Date.now() + ECHO_MS });
  }
  dropEcho(text: string): boolean {
    this.#echoes = this.#echoes.filter((echo) => echo.until > Date.now());
    const index = this.#echoes.findIndex((echo) => echo.text.trim() === text.trim());
    if (index >= 0) this.#echoes.splice(index, 1);
    return index >= 0;
  }

  /** The last of what was said before, what runs, and what waits for an answer. */
  attach(detail: ThreadDetail): void {
    const { dim } = this.#screen.colors;
    if (this.#screen.interactive) {
      const said = detail.items.filter((item) => item.status === 'completed' && (item.kind === 'user_message' || item.kind === 'agent_message'));
      for (const item of said.slice(-RECENT_ITEMS)) {
        const text = shorten(plain(item.detail ?? item.summary));
        this.#screen.print(item.kind === 'user_message' ? dim(`› ${text}`) : text);
      }
    }
    for (const turn of detail.turns) if (isRunning(turn)) this.running.startTurn(turn.id, timeOf(turn.started_at));
    for (const item of detail.items) {
      if (item.status !== 'in_progress' || !this.running.turns.has(item.turn_id) || !isTool(item)) continue;
      this.running.startTool(item.id, { label: oneLine(item.summary, 60), turnId: item.turn_id, since: timeOf(item.started_at) });
    }
    const turnId = [...this.running.turns.keys()].at(-1) ?? '';
    for (const input of detail.pending_user_inputs ?? []) this.#question(input, turnId);
    for (const approval of detail.pending_approvals ?? []) this.#approval(approval, turnId);
    this.tick();
  }

  tick(): void {
    this.#screen.status(this.#answer.active ? '' : this.running.line(Date.now()));
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
    switch (event.event) {
      case 'turn.started':
        if (payload.turn && isRunning(payload.turn)) this.running.startTurn(turnId, now);
        break;
      case 'turn.interrupt_requested':
        this.note('(stopping…)');
        break;
      case 'turn.completed':
        this.#endTurn(turnId, payload.turn);
        break;
      case 'item.started':
        if (payload.item) this.#started(payload.item, payload.tool, turnId, now);
        break;
      case 'item.delta':
        if (payload.kind === 'agent_message' || payload.kind === 'agent_reasoning') this.#answer.delta(event.item_id ?? '', payload.kind, payload.delta ?? '');
        break;
      case 'item.completed':
      case 'item.failed':
      case 'item.interrupted':
        if (payload.item) this.#ended(payload.item, turnId, now);
        break;
      case 'user_input.required':
        if (payload.id && payload.request) this.#question({ id: payload.id, request: payload.request }, turnId);
        break;
      case 'approval.required':
        if (payload.id) this.#approval(payload as unknown as PendingApproval, turnId);
        break;
      case 'user_input.answered':
        this.running.decide(payload.input_id ?? '', now);
        break;
      case 'user_input.canceled':
        if (this.running.isOpen(payload.id ?? '') && payload.terminal === 'expired') this.note('(the question has expired)');
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
      const label = tool?.name ? `${oneLine(tool.name, 40)} ${gist(tool.input)}`.trim() : oneLine(item.summary, 60);
      this.running.startTool(item.id, { label, turnId, since: now });
    }
  }

  #ended(item: ItemRecord, turnId: string, now: number): void {
    const text = item.detail ?? item.summary;
    const { dim, yellow } = this.#screen.colors;
    if (item.kind === 'user_message') {
      if (!this.dropEcho(text)) this.#screen.print(dim(`› ${plain(text)}`));
    } else if (item.kind === 'agent_message') {
      if (item.status === 'completed') {
        this.#answer.complete(item.id, text);
        this.progress++;
      } else if (this.#answer.breakOff(item.id)) this.#brokeOff = turnId;
    } else if (item.kind === 'agent_reasoning') {
      this.#answer.endReasoning(item.id);
    } else if (item.kind === 'error') {
      this.problem(plain(text));
    } else if (item.kind === 'status') {
      this.note(plain(text));
    } else if (item.kind === 'context_compaction') {
      this.note(item.status === 'completed' ? '(older messages were summed up)' : '(summing up older messages failed)');
    } else {
      const since = this.running.endTool(item.id, now);
      const took = since === undefined ? '' : `, ${elapsed(now - since)}`;
      if (!this.#screen.interactive) return;
      const line = oneLine(item.summary, 100);
      this.#screen.print(
        item.status === 'completed' ? dim(`  ✓ ${line}${took}`) : yellow(`  ✗ ${line.replace(/(?<![.:])[.:]+$/, '')} (${item.status}${took})`),
      );
    }
  }

  #endTurn(turnId: string, turn?: TurnRecord): void {
    this.running.endTurn(turnId);
    this.#brokeOff = null;
    this.progress++;
    if (turn?.status === 'interrupted' || turn?.status === 'canceled') this.note('(interrupted; what was done is kept)');
    if (turn?.status === 'failed') this.problem(plain(turn.error ? `This turn failed: ${turn.error}` : 'This turn failed.'));
  }

  #question(input: PendingUserInput, turnId: string): void {
    this.running.ask(input.id, turnId);
    if (!this.#firstTime(input.id)) return;
    const { bold, dim, yellow } = this.#screen.colors;
    for (const question of input.request.questions) {
      const lines = [yellow('? ') + bold(plain(question.question))];
      for (const [index, option] of (question.options ?? []).entries()) {
        lines.push(`  ${index + 1}. ${plain(option.label)}${option.description ? dim(`  ${plain(option.description)}`) : ''}`);
      }
      lines.push(dim(question.options?.length ? '  answer with a number or in your own words' : '  answer in your own words'));
      this.#screen.print(lines.join('\n'));
    }
  }

  #approval(approval: PendingApproval, turnId: string): void {
    this.running.ask(approval.id, turnId);
    if (!this.#firstTime(approval.id)) return;
    const { bold, dim, yellow } = this.#screen.colors;
    const lines = [`${yellow('? ')}${bold(plain(approval.description))}`];
    // the words of the model come first, so that nothing of it stands where the answers are offered
    if (approval.intent_summary) lines.push(...`It says: ${plain(approval.intent_summary)}`.split('\n').map((line) => dim(`  │ ${line}`)));
    if (approval.evidence)
      lines.push(
        ...plain(approval.evidence.replace(/\n$/, ''))
          .split('\n')
          .map((line) => `  ${line}`),
      );
    lines.push(
      dim(approval.evidence_rest ? `  ${approval.evidence_rest} characters follow: more to read on, then yes / no / skip` : '  yes / no / skip / yes all'),
    );
    this.#screen.print(lines.join('\n'));
  }

  #firstTime(questionId: string): boolean {
    this.progress++;
    if (this.#shown.has(questionId)) return false;
    this.#shown.add(questionId);
    return true;
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
const isTool = (item: ItemRecord): boolean => item.kind === 'tool_call' || item.kind === 'file_change' || item.kind === 'command_execution';
/** Never in the future, whatever the server's clock says. */
const timeOf = (at?: string): number => Math.min(Date.now(), (at && Date.parse(at)) || Date.now());

function shorten(text: string): string {
  const lines = text.trim().split('\n');
  const cut = lines.slice(0, 12).join('\n').slice(0, 1200);
  return cut.length < text.trim().length ? `${cut} …` : cut;
}
