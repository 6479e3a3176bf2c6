import { AGENT_QUEUE } from '../../../contracts/ids.ts';
import type { QueueStats } from '../../metrics/queue-stats.ts';
import type { Finding } from '../finding.ts';

/** Work that waits longer than this is noticed by people. */
const LATE_SECONDS = 30;

/** Task queues: who asks them for work, and what waits. The server forgets a worker five minutes after its last question. */
export function queueFindings(queues: readonly QueueStats[]): Finding[] {
  return queues.map(({ queue, kind, backlog, ageSeconds, pollers }) => {
    const name = `queue ${queue}`;
    const tasks = kind === 'workflow' ? 'workflow tasks' : 'activities';
    const detail = `${tasks}: ${backlog === 0 ? 'none waits' : `${backlog} wait, the oldest for ${ageSeconds} s`}; ${pollers} ask for work`;
    if (pollers === 0)
      return {
        name,
        state: queue === AGENT_QUEUE ? 'missing' : 'warning',
        version: null,
        detail,
        mend: `start ${queue === AGENT_QUEUE ? 'a worker: fetch worker' : queue.startsWith('kennel-') ? 'the kennel of that host: fetch kennel-worker' : 'the gateway: fetch gateway'}`,
      };
    if (ageSeconds > LATE_SECONDS)
      return {
        name,
        state: 'warning',
        version: null,
        detail,
        mend: queue === AGENT_QUEUE ? 'run one more worker' : 'look at the log of the role that asks it',
      };
    return { name, state: 'ok', version: null, detail, mend: null };
  });
}
