import { z } from 'zod';
import { egressText } from '../../store/kennel/egress-rules.ts';
import { defineTool } from '../tool.ts';

/**
 * Says what is allowed. A rule comes from a yes of a person, and is taken back by their words, so no tool changes one.
 */
export const egressTool = defineTool({
  name: 'egress_list',
  family: 'settings',
  description:
    'List the hosts that coding tasks of this chat may reach. Only the person changes that: a task asks, "egress remove HOST" takes back.',
  schema: z.strictObject({}),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  reads: [],
  sends: [],
  onStore: 'reads',
  timeoutMs: 10_000,
  run: async (_args, { db, config, chatId }) => {
    const { text, named } = await egressText(db, config, chatId);
    // a program of a repository chose which hosts it wants, and a name can say anything
    return {
      ok: true,
      output: text,
      ...(named && { sources: [{ kind: 'command' as const, label: 'names of hosts' }] }),
    };
  },
});
