import { factsOf } from '../../../kennel/agents/registry.ts';
import type { Config } from '../../config.ts';
import type { AgentName } from '../../contracts/kennel.ts';
import { taskBudget } from '../../domain/model/budgets.ts';
import { loginsOf } from '../../domain/tasks/agents/agent-settings.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { gateFolder } from './run/folder.ts';

/**
 * Opens the way out of a task's containers: own sockets, own budget, and only the hosts that the setting or a person
 * allows.
 */
export async function openGate({ config, gate }: Pick<KennelDeps, 'config' | 'gate'>, task: Task): Promise<void> {
  await gate.open({
    taskId: task.id,
    folder: gateFolder(config, task.id),
    budget: taskBudget(config),
    allow: allowedHosts(config, task.harness),
    at: { host: task.host, workspace: task.workspace },
    threadId: task.thread_id,
  });
}

/**
 * Hosts that an agent may reach besides the model: those of the setting, and its provider's own when it has a log-in
 * there.
 */
function allowedHosts({ FETCH_KENNEL_EGRESS, FETCH_KENNEL_LOGINS }: Config, agent: AgentName): string[] {
  const listed = FETCH_KENNEL_EGRESS.split(',').flatMap((host) => host.trim() || []);
  return loginsOf(FETCH_KENNEL_LOGINS).has(agent) ? [...listed, ...factsOf(agent).login.hosts] : listed;
}
