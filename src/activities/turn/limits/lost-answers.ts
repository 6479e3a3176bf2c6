import { createHash } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import { type LostAnswer, type Model, ModelError, type ModelRequest } from '../../../adapters/model/model.ts';
import { promptChars } from '../../../adapters/model/request/ask.ts';
import { estimatedUsage } from '../../../adapters/model/stream/usage.ts';
import type { ThinkInput } from '../../../contracts/conversation.ts';
import { costOf } from '../../../domain/model/price-book.ts';
import type { StepSubject } from '../../../store/turns/steps/step-subject.ts';
import { keepLost, type LostCost } from '../../../store/turns/steps/steps.ts';
import type { ActivityDeps } from '../../activity-deps.ts';

type Deps = Pick<ActivityDeps, 'db'>;

/**
 * Answers of a step that are paid for and are no step themselves: they broke off, were stopped, or their worker died.
 * What they have used counts for the budgets of the turn. The heartbeat carries it to the next attempt until it is
 * stored, so that a killed worker loses less than a second of it. A failure to store it is no failure of the step.
 */
export class LostAnswers {
  /** what the requests of this attempt have used so far, by its key; null: nothing */
  readonly #open = new Map<string, () => LostCost | null>();
  /** a killed attempt has streamed so many characters, and its heartbeat had not said so */
  #streamed = 0;
  readonly #attempt: number;
  #requests = 0;
  readonly #writes: Array<Promise<unknown>> = [];

  constructor({ attempt, heartbeatDetails }: { attempt: number; heartbeatDetails?: unknown }) {
    this.#attempt = attempt;
    const { lost } = (heartbeatDetails ?? {}) as { lost?: unknown };
    for (const cost of Array.isArray(lost) ? (lost as LostCost[]) : []) this.#open.set(cost.key, () => cost);
  }

  /** For the heartbeat. */
  get details(): { lost?: LostCost[] } {
    const lost = [...this.#open.values()].flatMap((cost) => cost() ?? []);
    return lost.length > 0 ? { lost } : {};
  }

  /** Stores what earlier attempts have lost. `streamed`: characters of the answer that a killed one left open */
  async countEarlier(deps: Deps, input: ThinkInput, subject: StepSubject, streamed: number): Promise<void> {
    if (this.#open.size === 0) this.#streamed = streamed;
    await this.countAll(deps, input, subject);
  }

  /** Stores all that is open: none of it has become a step. */
  async countAll(deps: Deps, input: ThinkInput, subject: StepSubject): Promise<void> {
    for (const [key, cost] of this.#open) this.#write(deps, input, subject, key, cost());
    await Promise.all(this.#writes);
  }

  /** The answer of the step is stored, with what it took to get it. */
  async stored(): Promise<void> {
    await Promise.all(this.#writes);
    this.#open.clear();
  }

  /** The same model, whose requests are watched. */
  watched(deps: Deps, model: Model, input: ThinkInput, subject: StepSubject): Model {
    const costAt = (key: string, asked: string, { model: name, ...lost }: LostAnswer): LostCost => {
      const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = lost.usage;
      const { microUsd, unpriced } = costOf([name, asked], lost.usage, model.prices);
      const usage = { inputTokens, outputTokens, microUsd, ...(unpriced > 0 && { unpriced }) };
      return { key, model: name, usage, cachedTokens, reasoningTokens, estimated: lost.usageEstimated };
    };
    return {
      ...model,
      complete: async (request) => {
        const { model: asked } = request;
        if (this.#streamed > 0) {
          const usage = estimatedUsage(promptChars(request), this.#streamed);
          this.#streamed = 0;
          const key = keyOf(request, `${this.#attempt} before`);
          this.#write(deps, input, subject, key, costAt(key, asked, { model: asked, usage, usageEstimated: true }));
        }
        let key = this.#nextKey(request);
        const answer = await model.complete({
          ...request,
          onBegun: (sofar) =>
            this.#open.set(key, () => {
              const used = sofar();
              return used && costAt(key, asked, used);
            }),
          onLost: (lost) => {
            this.#write(deps, input, subject, key, costAt(key, asked, lost));
            key = this.#nextKey(request);
          },
        });
        const cost = costAt(key, asked, answer);
        this.#open.set(key, () => cost);
        return answer;
      },
    };
  }

  /** The step has failed with this error. Whether a failure of the store came before its answer or behind is not known. */
  async failed(deps: Deps, input: ThinkInput, subject: StepSubject, error: unknown): Promise<void> {
    if (error instanceof ModelError || cancellationSignal().aborted) await this.countAll(deps, input, subject);
    else await Promise.all(this.#writes);
  }

  #nextKey(request: ModelRequest): string {
    this.#requests += 1;
    return keyOf(request, `${this.#attempt} ${this.#requests}`);
  }

  #write(deps: Deps, input: ThinkInput, subject: StepSubject, key: string, cost: LostCost | null): void {
    if (!cost) {
      this.#open.delete(key);
      return;
    }
    this.#open.set(key, () => cost);
    const written = keepLost(deps.db, input, subject, cost).then(
      () => void this.#open.delete(key),
      () => {},
    );
    this.#writes.push(written);
  }
}

/** Each request of each attempt has a key of its own; another model may be asked under the same id. */
const keyOf = ({ requestId, model }: ModelRequest, nth: string): string =>
  `${requestId} lost ${createHash('sha256').update(`${model} ${nth}`).digest('hex').slice(0, 8)}`;
