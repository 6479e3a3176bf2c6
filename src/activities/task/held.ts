import type { Task } from '../../store/kennel/tasks.ts';
import { fail } from '../failure.ts';
import type { KennelDeps } from './deps.ts';

/** Nothing is started, passed on or committed by a host whose task may be another's by now. */
export function requireHeld({ host, lease }: Pick<KennelDeps, 'host' | 'lease'>, task: Pick<Task, 'id' | 'host'>): void {
  if (task.host !== host) throw fail('NotFound', `Task ${task.id} is on the host "${task.host}" now, and this is "${host}".`);
  if (!lease.held()) throw fail('KennelUnavailable', `The host "${host}" cannot renew its lease now.`);
}
