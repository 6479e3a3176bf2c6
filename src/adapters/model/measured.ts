import { costOf } from '../../domain/model/price-book.ts';
import { modelSeconds, modelTokens, modelUsd } from '../../telemetry/metrics.ts';
import { annotate, traced } from '../../telemetry/tracing.ts';
import { type LostAnswer, type Model, type ModelAnswer, ModelError, type ModelRequest } from './model.ts';

/** A model whose requests are counted, and traced: how long, how many tokens, what they cost. */
export const measured = (model: Model): Model => ({
  ...model,
  complete: (request) => {
    const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': request.model };
    const onLost = (lost: LostAnswer) => {
      countUsage(model, request, lost);
      request.onLost?.(lost);
    };
    return traced('chat', { kind: 'client', attributes }, () => complete(model, { ...request, onLost }));
  },
});

async function complete(model: Model, request: ModelRequest): Promise<ModelAnswer> {
  const begun = performance.now();
  const took = (outcome: string) => modelSeconds.observe({ outcome }, (performance.now() - begun) / 1000);
  try {
    const answer = await model.complete(request);
    took('ok');
    countUsage(model, request, answer);
    return answer;
  } catch (error) {
    took(error instanceof ModelError ? error.type : 'cancelled');
    throw error;
  }
}

function countUsage(model: Model, request: ModelRequest, answer: LostAnswer): void {
  const { inputTokens, cachedTokens, outputTokens } = answer.usage;
  modelTokens.add({ kind: 'input' }, inputTokens);
  modelTokens.add({ kind: 'cached' }, cachedTokens);
  modelTokens.add({ kind: 'output' }, outputTokens);
  modelUsd.add({}, costOf([answer.model, request.model ?? model.name], answer.usage, model.prices).microUsd / 1e6);
  annotate({
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedTokens,
    'gen_ai.usage.output_tokens': outputTokens,
  });
}
