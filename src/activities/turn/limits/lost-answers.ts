import { createHash } from 'node:crypto';
import type { LostAnswer, Model, ModelRequest } from '../../../adapters/model/model.ts';
import type { ThinkInput } from '../../../contracts/conversation.ts';
import { costOf } from '../../../domain/model/price-book.ts';
import type { StepSubject } from '../../../store/turns/steps/step-subject.ts';
import { keepLost } from '../../../store/turns/steps/steps.ts';
import type { ActivityDeps } from '../../activity-deps.ts';

type Deps = Pick<ActivityDeps, 'db'>;

/**
 * A model whose answers are paid for also where they broke off or were stopped: what they have used counts for the
 * budgets of the turn. `kept` waits until it is stored. A failure to store it is no failure of the step.
 */
export function countingLost({ db }: Deps, model: Model, input: ThinkInput, subject: StepSubject) {
  const writes: Array<Promise<unknown>> = [];
  const count = ({ requestId, model: asked }: ModelRequest, lost: LostAnswer) => {
    const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = lost.usage;
    const { microUsd, unpriced } = costOf([lost.model, asked], lost.usage, model.prices);
    const usage = { inputTokens, outputTokens, microUsd, ...(unpriced > 0 && { unpriced }) };
    // each request of each attempt has an id of its own; another model may be asked under the same one
    const key = `${requestId} lost ${createHash('sha256').update(`${asked} ${writes.length}`).digest('hex').slice(0, 8)}`;
    const cost = { key, model: lost.model, usage, cachedTokens, reasoningTokens, estimated: lost.usageEstimated };
    writes.push(keepLost(db, input, subject, cost).catch(() => {}));
  };
  return {
    model: {
      ...model,
      complete: (request) => model.complete({ ...request, onLost: (lost) => count(request, lost) }),
    } satisfies Model,
    kept: () => Promise.all(writes),
  };
}
