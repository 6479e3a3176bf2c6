import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  callsOf,
  completionOf,
  type PracticeAnswer,
  sendError,
  sendJson,
  streamAnswer,
  usageOf,
  type WireCall,
} from './answer.ts';
import { practiceStep } from './practice.ts';
import { type ScriptStep, scriptedStep } from './script.ts';
import {
  charsOf,
  type OfferedTool,
  offeredTools,
  type PracticeRequest,
  parseRequest,
  readBody,
  type Situation,
  situationOf,
  skimmed,
} from './situation.ts';

/** The outcome of one request for a completion. */
export interface LedgerEntry {
  /** order of arrival, from 1 */
  n: number;
  /** epoch milliseconds of arrival */
  at: number;
  /** the `x-fetch-request-id` header; empty without one */
  requestId: string;
  model: string;
  /** the last user message */
  user: string;
  step: number;
  /** roles of the messages, tool names offered, size of the body in bytes */
  roles: string[];
  tools: string[];
  bytes: number;
  /** `answered`: the last byte was handed to the socket; `aborted`: the caller went away first */
  state: 'open' | 'answered' | 'aborted' | 'failed';
  /** why the provider refused it */
  refusal?: string;
}

/** Tells the ledger of a request now and when its response has ended. The signal aborts when the connection closes. */
function follow(response: ServerResponse, entry: LedgerEntry, ledger?: (entry: LedgerEntry) => void): AbortSignal {
  const gone = new AbortController();
  const become = (state: LedgerEntry['state']): void => {
    if (entry.state !== 'open') return;
    entry.state = state;
    ledger?.(entry);
  };
  ledger?.(entry);
  response.on('finish', () => become(response.statusCode < 400 ? 'answered' : 'failed'));
  response.on('close', () => {
    become('aborted');
    gone.abort();
  });
  return gone.signal;
}

export interface CompletionOptions {
  /** understand SCRIPT:[...] messages */
  scripts?: boolean;
  /** milliseconds before each word of an answer without its own pace */
  pace?: number;
  /**
   * of a long request, parse only the latest message and what follows, so that a benchmark does not measure this
   * server; `roles` then lacks the rest
   */
  skim?: boolean;
  /** called at arrival and again when the state changes */
  ledger?: (entry: LedgerEntry) => void;
  /** called with the whole body of each request */
  heard?: (body: string) => void;
  /** what the provider gives with a step and wants back */
  provider?: Provider;
}

export interface Provider {
  /** why it refuses a request (HTTP 400); null when it does not */
  refusal(body: PracticeRequest): string | null;
  /** an answer with what the provider adds to it */
  signed(model: string, answer: { step: ScriptStep; calls: WireCall[] }): { step: ScriptStep; calls: WireCall[] };
}

/** Answers the completion requests of one server. */
export class Completions {
  private readonly options: CompletionOptions;
  /** how often each step failed on purpose, for `times` */
  private readonly failures = new Map<string, number>();
  private count = 0;

  constructor(options: CompletionOptions) {
    this.options = options;
  }

  /** An error before the head is sent becomes the answer. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await readBody(request);
    this.options.heard?.(raw);
    const body = parseRequest(this.options.skim ? skimmed(raw) : raw);
    const situation = situationOf(body.messages);
    const tools = offeredTools(body.tools);
    const entry = this.enter(String(request.headers['x-fetch-request-id'] ?? ''), body, situation, tools, raw.length);
    const gone = follow(response, entry, this.options.ledger);

    const refused = this.options.provider?.refusal(body);
    if (refused) {
      entry.refusal = refused;
      return sendError(response, 400, refused);
    }
    const scripted = this.stepOf(entry.requestId, situation, tools);
    if (scripted.hang) return;
    if (scripted.fail) return sendError(response, scripted.fail, `scripted ${scripted.fail}`, scripted.retryAfter);
    const unsigned = { step: scripted, calls: callsOf(scripted, situation.step) };
    const { step, calls } = this.options.provider?.signed(entry.model, unsigned) ?? unsigned;
    const answer: PracticeAnswer = {
      envelope: { id: `practice-${entry.n}`, created: Math.floor(entry.at / 1000), model: entry.model },
      step,
      calls,
      usage: usageOf(this.options.skim ? raw.length : charsOf(body), step),
    };
    if (!body.stream) return sendJson(response, 200, completionOf(answer));
    await streamAnswer(response, answer, {
      pace: step.pace ?? this.options.pace ?? 10,
      usage: body.stream_options?.include_usage === true,
      gone,
    });
  }

  private enter(
    requestId: string,
    body: PracticeRequest,
    situation: Situation,
    tools: readonly OfferedTool[],
    bytes: number,
  ): LedgerEntry {
    this.count += 1;
    return {
      n: this.count,
      at: Date.now(),
      requestId,
      model: body.model ?? 'practice',
      user: situation.user.slice(0, 2_000),
      step: situation.step,
      roles: body.messages.map((message) => message.role),
      tools: tools.map((tool) => tool.name),
      bytes,
      state: 'open',
    };
  }

  /** The next step; without its failure when that has happened often enough. */
  private stepOf(requestId: string, situation: Situation, tools: readonly OfferedTool[]): ScriptStep {
    const step = (this.options.scripts ? scriptedStep(situation) : null) ?? practiceStep(situation, tools);
    if (step.times === undefined || !(step.fail || step.hang || step.cut)) return step;
    const key = `${requestId.split('#')[0]}\n${situation.user}\n${situation.step}`;
    const failed = this.failures.get(key) ?? 0;
    if (failed >= step.times) return { ...step, fail: undefined, hang: undefined, cut: undefined };
    this.failures.set(key, failed + 1);
    return step;
  }
}
