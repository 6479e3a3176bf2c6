import type { TaskInput } from '../../contracts/task.ts';
import { MINUTE } from '../time.ts';

/** The first text of the task's page in the Temporal Web UI. It holds no text of a person. */
export const taskPage = (input: TaskInput): { staticSummary: string; staticDetails: string } => ({
  staticSummary: `${input.harness} in ${input.workspace}`,
  staticDetails: [
    `A coding agent (**${input.harness}**) in a container of the host \`${input.host}\`, on the workspace \`${input.workspace}\`. The parent is its conversation.`,
    '',
    `- ends after ${time(input.limits.workMs)} of work, or ${time(input.limits.silenceMs)} without a word`,
    `- a question keeps its container for ${time(input.limits.holdMs)}; after that its session goes on in another one when the answer is there`,
    '- goal, answers and log are in the database under the id of the task; `fetch kennel ps` shows its container',
  ].join('\n'),
});

const time = (ms: number): string => (ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / MINUTE)} min`);
