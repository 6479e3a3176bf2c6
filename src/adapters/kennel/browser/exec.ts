import { finished } from 'node:stream/promises';
import { Demux } from '../docker/demux.ts';
import type { Engine } from '../docker/engine.ts';
import { KeptOutput } from '../kept-output.ts';

interface ExecResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** output was longer than `maxOutput` */
  cut: boolean;
}

/**
 * Runs one program in a container that is already running. The program is killed at the end of its time, also when
 * nobody waits for it any more.
 */
export async function execIn(
  { docker, patient }: Engine,
  container: string,
  argv: readonly string[],
  {
    stdin = '',
    timeoutMs,
    maxOutput,
    signal,
  }: { stdin?: string; timeoutMs: number; maxOutput: number; signal?: AbortSignal },
): Promise<ExecResult> {
  const seconds = String(Math.ceil(timeoutMs / 1000));
  const exec = await patient.getContainer(container).exec({
    Cmd: ['timeout', '--signal=KILL', seconds, ...argv],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream = await exec.start({ hijack: true, stdin: true });
  const cancel = () => stream.destroy(signal!.reason);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    signal?.throwIfAborted();
    const [out, err] = [new KeptOutput(maxOutput), new KeptOutput(maxOutput)];
    const demux = new Demux({ stdout: (bytes) => out.push(bytes), stderr: (bytes) => err.push(bytes) });
    stream.on('data', (chunk: Buffer) => demux.push(chunk));
    const read = finished(stream, { writable: false });
    stream.end(stdin);
    await read;
    const { ExitCode } = await docker.getExec(exec.id).inspect();
    return { code: ExitCode, stdout: out.text(), stderr: err.text(), cut: out.cut };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}
