import { randomUUID } from 'node:crypto';
import type * as acp from '@agentclientprotocol/sdk';
import { RequestError } from '@agentclientprotocol/sdk';
import { reasonOf, type ThreadDetail } from '../../../client/api-client.ts';
import { invalid, readPrompt } from './prompt.ts';
import { Session } from './session.ts';
import type { ThreadApi } from './thread-api.ts';
import { MODES } from './updates.ts';

export interface SessionsDeps {
  api: ThreadApi;
  /** folder of the workspaces */
  workspaces: string;
  /** for the person, on standard error */
  say: (text: string) => void;
}

const PAGE = 50;

/** The sessions that an editor has open, and the threads behind them. */
export class Sessions {
  /** of the editor */
  capabilities: acp.ClientCapabilities | undefined;
  readonly #deps: SessionsDeps;
  readonly #open = new Map<string, Session>();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  async begin(client: acp.AgentContext, cwd: unknown): Promise<acp.NewSessionResponse> {
    const { id } = await this.#deps.api.createThread(newThread(cwd), `editor ${randomUUID()}`);
    const { modes } = await this.load(client, id, false);
    return { sessionId: id, modes: modes ?? null };
  }

  /** With `replay`, the editor is shown the past. */
  async load(client: acp.AgentContext, id: string, replay: boolean): Promise<acp.LoadSessionResponse> {
    const detail = await this.#known(id);
    this.#forget(id);
    const { api, workspaces, say } = this.#deps;
    const failed = (error: unknown) => say(reasonOf(error));
    const session = await Session.follow(
      { api, client, capabilities: this.capabilities, workspaces, failed },
      detail,
      replay,
    );
    this.#open.set(id, session);
    return { modes: session.modes };
  }

  async prompt(id: string, blocks: readonly acp.ContentBlock[]): Promise<acp.PromptResponse> {
    return { stopReason: await this.#find(id).prompt(readPrompt(blocks)) };
  }

  /** An unknown session has nothing to stop. */
  async cancel(id: string): Promise<void> {
    await this.#open.get(id)?.cancel();
  }

  async setMode(id: string, mode: unknown): Promise<void> {
    const session = this.#find(id);
    const known = MODES.find((each) => each.id === mode);
    if (!known) throw invalid(`there is no mode ${String(mode)}: ${MODES.map((each) => each.id).join(' or ')}`);
    await session.setMode(known.id);
  }

  async close(id: string): Promise<void> {
    await this.cancel(id);
    this.#forget(id);
  }

  /** Puts the thread away; what was said in it stays. */
  async remove(id: string): Promise<void> {
    await this.#known(id);
    this.#forget(id);
    await this.#deps.api.change(id, { archived: true });
  }

  async list({ cwd, cursor }: Record<string, unknown>): Promise<acp.ListSessionsResponse> {
    const from = typeof cursor === 'string' ? Number(cursor) : 0;
    if (!Number.isSafeInteger(from) || from < 0) throw invalid('cursor is not one of this list');
    const rest = (await this.#deps.api.threads(from + PAGE + 1)).slice(from);
    const sessions = rest.slice(0, PAGE).filter(({ workspace }) => typeof cwd !== 'string' || workspace === cwd);
    return {
      sessions: sessions.map(({ id, workspace, title, updated_at }) => ({
        sessionId: id,
        cwd: workspace,
        ...(title && { title }),
        updatedAt: updated_at,
      })),
      ...(rest.length > PAGE && { nextCursor: String(from + PAGE) }),
    };
  }

  #find(id: string): Session {
    const session = this.#open.get(id);
    if (!session) throw invalid('unknown sessionId');
    return session;
  }

  #forget(id: string): void {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  async #known(id: string): Promise<ThreadDetail> {
    const detail = await this.#deps.api.detail(id, PAGE);
    // a deleted session is an archived thread
    if (!detail || detail.thread.archived) throw RequestError.resourceNotFound(id);
    return detail;
  }
}

/** Facts for the model about the editor's folder. */
function newThread(cwd: unknown): Record<string, unknown> {
  const folder = typeof cwd === 'string' && cwd !== '' ? cwd : process.cwd();
  return {
    workspace: folder,
    mode: 'agent',
    // each command asks in the editor
    allow_shell: true,
    system_prompt: `The person writes from an editor that has the folder ${folder} open. If no workspace has this folder yet, clone it with workspace_clone before you work on it.`,
  };
}
