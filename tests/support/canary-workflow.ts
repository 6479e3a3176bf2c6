import {
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertMemo,
} from '@temporalio/workflow';

/** A workflow that puts a word into every place of Temporal that takes text. */

export interface CanaryWords {
  memo: string;
  details: string;
  heartbeat: string;
  summary: string;
  failure: string;
  timer: string;
  end: string;
}
export const wordSignal = defineSignal<[string]>('word');
export const echoUpdate = defineUpdate<string, [string]>('echo');
export const echoQuery = defineQuery<string, [string]>('echoed');

const activities = proxyActivities<{ beat(heartbeat: string, failure: string): Promise<string> }>({
  startToCloseTimeout: 20_000,
  heartbeatTimeout: 10_000,
  retry: { maximumAttempts: 2, initialInterval: 10 },
});

export async function canary(words: CanaryWords): Promise<string> {
  let heard = '';
  setHandler(wordSignal, (word) => {
    heard = word;
  });
  setHandler(echoUpdate, (word) => word);
  setHandler(echoQuery, (word) => `${word} ${heard}`);
  setCurrentDetails(words.details);
  upsertMemo({ word: words.memo });
  const failed = await activities.beat
    .executeWithOptions({ summary: words.summary }, [words.heartbeat, words.failure])
    .catch((error) => error);
  await sleep(1, { summary: words.timer });
  await condition(() => heard !== '', 20_000);
  throw ApplicationFailure.nonRetryable(`${words.end} after ${failed.cause?.message}`, 'Ended', { heard });
}
