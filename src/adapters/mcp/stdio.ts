import { StringDecoder } from 'node:string_decoder';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { visible } from '../../domain/text/foreign-text.ts';
import type { Kennel, RunningProgram } from '../kennel/kennel.ts';
import { KeptOutput } from '../kennel/kept-output.ts';
import { hiding, McpError, type WatchedTransport } from './session.ts';

/** Of one message. */
const MOST_BYTES = 4 * 1024 * 1024;
const TOO_LONG = `answered with more than ${MOST_BYTES / 1024 / 1024} MB.`;
/** Programs print greetings to stdout by mistake; one that prints nothing else is no server. */
const MOST_GARBAGE = 100;
/** Of stderr, shown when the program ends. */
const SHOWN_BYTES = 2_000;

interface StdioServer {
  name: string;
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  /** folder of this host that it may read */
  cwd: string | null;
  hosts: readonly string[];
}

/** A server in a container of its own, which lives until the transport is closed, for at most `lifetimeMs`. */
export function stdioTransport(kennel: Kennel, server: StdioServer, lifetimeMs: number): WatchedTransport {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  return {
    transport: new ContainerTransport(kennel, server, lifetimeMs, reject),
    broken,
    hide: hiding(() => Object.values(server.env)),
  };
}

class ContainerTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly kennel: Kennel;
  private readonly server: StdioServer;
  private readonly lifetimeMs: number;
  private readonly onBroken: (error: McpError) => void;
  private readonly decoder = new StringDecoder('utf8');
  private readonly said = new KeptOutput(SHOWN_BYTES);
  private line = '';
  private garbage = 0;
  private program: RunningProgram | null = null;
  private closed = false;
  private starting: Promise<void> | null = null;
  private closing: Promise<void> | null = null;

  constructor(kennel: Kennel, server: StdioServer, lifetimeMs: number, onBroken: (error: McpError) => void) {
    this.kennel = kennel;
    this.server = server;
    this.lifetimeMs = lifetimeMs;
    this.onBroken = onBroken;
  }

  start(): Promise<void> {
    this.starting = this.begin();
    return this.starting;
  }

  private async begin(): Promise<void> {
    const { command, args, env, cwd, hosts } = this.server;
    this.program = await this.kennel.startProgram({
      argv: [command, ...args],
      env,
      folder: cwd,
      hosts,
      timeoutMs: this.lifetimeMs,
      label: 'mcp',
      onStdout: (bytes) => this.take(bytes),
      onStderr: (bytes) => this.said.push(bytes),
      onEnd: () => this.ended(),
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.program || this.closed) throw new McpError(`The MCP server ${this.server.name} does not run.`);
    this.program.write(`${JSON.stringify(message)}\n`);
  }

  /** Every caller waits until the container is gone. */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    this.closed = true;
    // it may fail before its container has started
    await this.starting?.catch(() => {});
    await this.program?.close();
    this.onclose?.();
  }

  private take(bytes: Buffer): void {
    if (this.closed) return;
    this.line += this.decoder.write(bytes);
    const lines = this.line.split('\n');
    this.line = lines.pop()!;
    for (const line of lines) this.read(line);
    if (this.line.length > MOST_BYTES) this.fail(TOO_LONG);
  }

  private read(line: string): void {
    if (this.closed || line.trim() === '') return;
    if (line.length > MOST_BYTES) {
      this.fail(TOO_LONG);
      return;
    }
    const parsed = JSONRPCMessageSchema.safeParse(jsonOf(line));
    if (parsed.success) {
      this.onmessage?.(parsed.data);
      return;
    }
    this.garbage += 1;
    if (this.garbage > MOST_GARBAGE) this.fail('prints other things than messages of MCP.');
  }

  private ended(): void {
    if (this.closed) return;
    const said = visible(this.said.text()).trim();
    this.fail(`ended${said ? `. Its last words:\n${said}` : ' without a word.'}`);
  }

  private fail(why: string): void {
    this.onBroken(new McpError(`The MCP server ${this.server.name} ${why}`));
    void this.close();
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
