import { z } from 'zod';
import { KeptOutput } from '../../adapters/kennel/kept-output.ts';
import { type CustomTool, commandOf } from '../../domain/extensions/custom-tool.ts';
import { isAgreed } from '../../store/owner/extensions.ts';
import { defineTool, endedByRestart, restarted, type Tool } from '../tool.ts';
import { commandOutcome, printed } from '../workspace/command-text.ts';
import { inWorkspace, WITH_IMAGE_MS } from '../workspace/in-workspace.ts';

/** Of stdout and stderr each, in bytes. */
const KEPT_BYTES = 200_000;
const SHOWN_BYTES = 20_000;

/** A tool of the owner's own, as they agreed to it. */
export function customTool(hash: string, custom: CustomTool): Tool {
  const [declared] = custom.tools;
  const { name, description, danger, effect, parameters } = declared!;
  return defineTool({
    name,
    family: 'own_commands',
    description,
    schema: z.fromJSONSchema(parameters as never),
    danger,
    effect,
    runsIn: 'kennel',
    needsShell: true,
    reads: ['command'],
    // the owner chose its hosts; what goes there follows from the arguments
    sends: [
      ...(custom.hosts.length > 0 ? (['egress'] as const) : []),
      ...(danger === 'DANGEROUS' ? (['command'] as const) : []),
    ],
    item: 'command_execution',
    notARoutineStep: true,
    asks: (_, at) => `Run your tool ${custom.name}${at}?`,
    timeoutMs: custom.timeoutMs + WITH_IMAGE_MS,
    run: async (args, context) => {
      if (!(await isAgreed(context.db, hash)))
        return { ok: false, output: `The owner does not agree to the tool ${custom.name} any more. Nothing was run.` };
      return await inWorkspace(context, undefined, async ({ kennel, path, name: workspace }) => {
        const { line, env } = commandOf(custom, args as Record<string, unknown>);
        const began = performance.now();
        const kept = new KeptOutput(SHOWN_BYTES);
        try {
          const result = await kennel.command({
            workspace: path,
            environment: true,
            argv: ['bash', '-c', line],
            cwd: custom.cwd,
            env: { CI: 'true', TERM: 'dumb', ...env },
            hosts: custom.hosts,
            timeoutMs: custom.timeoutMs,
            maxOutput: KEPT_BYTES,
            label: 'tool',
            onOutput: (_, piece) => kept.push(Buffer.from(piece)),
            signal: context.signal,
          });
          const { ok, output, metadata } = commandOutcome(
            custom.name,
            result,
            performance.now() - began,
            custom.timeoutMs,
          );
          return { ok, output, metadata: { ...metadata, tool: custom.name, workspace } };
        } catch (error) {
          if (!endedByRestart(context.signal)) throw error;
          return {
            ok: false,
            output: `${restarted(custom.name)}\n\n${printed(kept.text())}`.trim(),
            metadata: { tool: custom.name, workspace },
          };
        }
      });
    },
  });
}
