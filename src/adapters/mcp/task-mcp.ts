import { askedTool, egressWords } from '../../domain/tasks/egress.ts';
import { addTraffic } from '../../store/kennel/egress.ts';
import type { Admission } from '../kennel/gate/egress/admission.ts';
import type { TaskMcp } from '../kennel/gate/gate.ts';
import { type AgentServersDeps, serveAgents } from './agent-servers.ts';

/**
 * What a task has read there counts like what it has read from a host: its report names it, and later questions say so.
 */
export function taskMcp({
  taskId,
  admission,
  ...deps
}: Omit<AgentServersDeps, 'read' | 'admit'> & { taskId: string; admission: Admission }): TaskMcp {
  const over = new AbortController();
  const read: AgentServersDeps['read'] = (name, bytes) =>
    addTraffic(deps.db, taskId, [{ host: mcpHost(name), port: MCP_PORT, connections: 1, ...bytes }]);
  const admit: AgentServersDeps['admit'] = async ({ server, declared }, left) => {
    if (declared.danger === 'SAFE') return null;
    const tool = askedTool(server.name, declared.of);
    const admitted = await admission.admit(tool, 'The agent', left);
    if (!admitted.open) return admitted.words;
    return admitted.waited ? egressWords.callAgain(tool) : null;
  };
  return { server: serveAgents({ ...deps, read, admit }, over.signal), cut: () => over.abort() };
}

/** Stands among the hosts of a task. No host can have this name. */
const mcpHost = (name: string): string => `mcp server ${name}`;
const MCP_PORT = 443;
