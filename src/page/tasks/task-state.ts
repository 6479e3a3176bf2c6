import type { TaskSummary } from '../../contracts/owner.ts';
import { texts } from '../texts.ts';

/** What a task does, in words, and the colour for it. */
export function stateOfTask({
  state,
  planning,
  limited_until: limit,
}: Pick<TaskSummary, 'state' | 'planning' | 'limited_until'>): {
  words: string;
  tone: 'plain' | 'good' | 'wait' | 'bad' | 'busy';
} {
  if (limit !== null && state === 'running') return { words: texts.tasks.states.limited!, tone: 'wait' };
  const words = texts.tasks.states[state] ?? state.replaceAll('_', ' ');
  if (state === 'running') return { words: planning ? texts.tasks.planning : words, tone: 'busy' };
  if (state === 'completed') return { words, tone: 'good' };
  if (state === 'failed') return { words, tone: 'bad' };
  return { words, tone: /wait/.test(state) ? 'wait' : 'plain' };
}
