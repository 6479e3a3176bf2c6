import { costOf } from '../../domain/model/price-book.ts';
import { modelSeconds, modelTokens, modelUsd } from '../../telemetry/metrics.ts';
import { type Model, ModelError } from './model.ts';

/** A model whose requests are counted: how long, how many tokens, what they cost. */
export const measured = (model: Model): Model => ({
  ...model,
  async complete(request) {
    const begun = performance.now();
    const took = (outcome: string) => modelSeconds.observe({ outcome }, (performance.now() - begun) / 1000);
    try {
      const answer = await model.complete(request);
      const { inputTokens, cachedTokens, outputTokens } = answer.usage;
      took('ok');
      for (const [kind, tokens] of [
        ['input', inputTokens],
        ['cached', cachedTokens],
        ['output', outputTokens],
      ] as const)
        modelTokens.add({ kind }, tokens);
      modelUsd.add({}, costOf([answer.model, request.model ?? model.name], answer.usage, model.prices).microUsd / 1e6);
      return answer;
    } catch (error) {
      took(error instanceof ModelError ? error.type : 'cancelled');
      throw error;
    }
  },
});
