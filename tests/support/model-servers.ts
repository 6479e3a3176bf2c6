import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { findModelServers, PYTHON } from '../../scripts/provide-model-servers.ts';
import { childEnvironment } from '../../src/config.ts';
import { writeTinyModel } from './tiny-model.ts';
import { until } from './until.ts';

/** A real server of models, as a process of its own. */
export interface ModelServer {
  /** of its OpenAI protocol */
  baseUrl: string;
  close(): void;
}

/** llama.cpp with the tiny model. It answers always alike, as the most probable token counts. */
export async function startLlama(
  folder: string,
  options: { name: string; context: number; endless?: boolean },
): Promise<ModelServer> {
  const file = join(folder, `${options.name}.gguf`);
  writeTinyModel(file, options);
  const port = await freePort();
  const program = `
import sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.model_alias = ${JSON.stringify(file)}, {${JSON.stringify(options.name)}}
p.n_ctx, p.port, p.sampling.temp = ${options.context}, ${port}, 0
p.warmup, p.cache_ram_mib = False, 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(p)
sys.stdin.read()`;
  return await started(['-c', program], port, '/health');
}

/** LiteLLM's proxy in front of one endpoint, whose models it offers under their names. */
export async function startLiteLlm(folder: string, baseUrl: string, models: readonly string[]): Promise<ModelServer> {
  // JSON is YAML, too, and the proxy reads no other extension
  const file = join(folder, 'litellm.yaml');
  const list = models.map((name) => ({
    model_name: name,
    litellm_params: { model: `openai/${name}`, api_base: baseUrl, api_key: 'test-key', max_retries: 0 },
  }));
  writeFileSync(file, JSON.stringify({ model_list: list, router_settings: { num_retries: 0 } }));
  const port = await freePort();
  const address = ['--host', '127.0.0.1', '--port', String(port), '--loop', 'asyncio', '--log-level', 'warning'];
  return await started(['-m', 'uvicorn', 'litellm.proxy.proxy_server:app', ...address], port, '/health/liveliness', {
    CONFIG_FILE_PATH: file,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  });
}

async function started(
  args: string[],
  port: number,
  health: string,
  env: Record<string, string> = {},
): Promise<ModelServer> {
  // none of the packages of this machine
  const child: ChildProcess = spawn(PYTHON, ['-S', '-s', ...args], {
    env: { ...childEnvironment({}), ...env, PYTHONPATH: findModelServers()! },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2_000);
  });
  const close = (): void => void child.kill('SIGKILL');
  const root = `http://127.0.0.1:${port}`;
  await until(
    'the server of models answers',
    async () => {
      if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}:\n${said}`);
      return (await fetch(`${root}${health}`)).ok;
    },
    170_000,
  ).catch((error) => {
    close();
    throw error;
  });
  return { baseUrl: `${root}/v1`, close };
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
