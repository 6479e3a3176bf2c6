import { type CommandContext, configuration } from './command.ts';
import { destroy } from './docker/containers.ts';
import { Demux } from './docker/demux.ts';
import type { KennelProgram, RunningProgram } from './kennel.ts';

/**
 * Starts a program in a container of its own and speaks with it. It also ends with this process, because its input is
 * closed then.
 */
export async function startAttached(
  context: CommandContext,
  program: KennelProgram & { gate?: string },
): Promise<RunningProgram> {
  const { docker, patient } = context.engine;
  const { argv, env, folder, timeoutMs, label, gate, onStdout, onStderr, onEnd } = program;
  const settings = {
    workspace: folder,
    readOnly: true,
    argv: [...argv],
    env: { ...env },
    timeoutMs,
    label,
    maxOutput: 0,
    ...(gate !== undefined && { gate }),
  };
  const { id } = await docker.createContainer(configuration(context, settings));
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    onEnd();
  };
  let stream: NodeJS.ReadWriteStream;
  try {
    stream = (await patient
      .getContainer(id)
      .attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true })) as unknown as typeof stream;
    const demux = new Demux({ stdout: onStdout, stderr: onStderr });
    stream.on('data', (chunk: Buffer) => demux.push(chunk));
    for (const event of ['end', 'close', 'error']) stream.on(event, end);
    await docker.getContainer(id).start();
  } catch (error) {
    over = true;
    await destroy(docker, id).catch(() => {});
    throw error;
  }
  return {
    write: (text) => void stream.write(text),
    close: async () => {
      over = true;
      stream.end();
      // an engine that went away cannot be asked; `sweep` finds the container later
      await destroy(docker, id).catch(() => {});
    },
  };
}
