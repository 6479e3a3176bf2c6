import { AGENT_QUEUE, BACKGROUND_QUEUE } from '../../../contracts/ids.ts';
import type { QueueStats } from '../../instance/connections/queue-stats.ts';
import type { Finding } from '../finding.ts';

/** Work that waits longer than this is noticed by people. Routine runs wait for people by design. */
const lateSeconds = (queue: string): number => (queue === BACKGROUND_QUEUE ? 600 : 30);

/** A worker takes no longer than this to ask for the first routine run. */
const START_SECONDS = 30;

const isWorkers = (queue: string): boolean => queue === AGENT_QUEUE || queue === BACKGROUND_QUEUE;

/**
 * Task queues: who asks them for work, and what waits. The server forgets a worker five minutes after its last
 * question.
 */
export function queueFindings(queues: readonly QueueStats[]): Finding[] {
  return queues.map(({ queue, kind, backlog, ageSeconds, pollers }) => {
    const name = `queue ${queue}`;
    const tasks = kind === 'workflow' ? 'workflow tasks' : 'activities';
    const detail = `${tasks}: ${backlog === 0 ? 'none waits' : `${backlog} wait, the oldest for ${ageSeconds} s`}; ${pollers} ask for work`;
    // workers ask the other one from the first routine run on
    if (pollers === 0 && (queue !== BACKGROUND_QUEUE || ageSeconds > START_SECONDS))
      return {
        name,
        state: isWorkers(queue) ? 'missing' : 'warning',
        version: null,
        detail,
        mend: `start ${isWorkers(queue) ? 'a worker: fetch worker' : queue.startsWith('kennel-') ? 'the kennel of that host: fetch kennel-worker' : 'the gateway: fetch gateway'}`,
      };
    if (ageSeconds > lateSeconds(queue))
      return {
        name,
        state: 'warning',
        version: null,
        detail,
        mend: isWorkers(queue) ? 'run one more worker' : 'look at the log of the role that asks it',
      };
    return { name, state: 'ok', version: null, detail, mend: null };
  });
}
