/** Tools that have become a part of another one, each with the call that does the same now. */
const FORMER: Record<string, (args: Record<string, unknown>) => { name: string; args: Record<string, unknown> }> = {
  cron_enable: ({ enabled = true, ...args }) => ({ name: 'cron_update', args: { ...args, enabled } }),
  egress_list: () => ({ name: 'workspace_status', args: {} }),
  read_attachment: ({ id, ...args }) => ({ name: 'read_output', args: { ...args, callId: id } }),
  task_resume: (args) => ({ name: 'task_pause', args: { ...args, resume: true } }),
};

export const formerNames: readonly string[] = Object.keys(FORMER);

/**
 * A call by the names of today. Former names come from routines and calls of an earlier release, and from models that
 * read their own earlier calls.
 */
export function currentCall<C extends { name: string; args: Record<string, unknown> }>(call: C): C {
  const current = Object.hasOwn(FORMER, call.name) ? FORMER[call.name]!(call.args) : null;
  return current ? { ...call, ...current } : call;
}
