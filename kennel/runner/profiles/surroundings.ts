import type { ProfileContext } from './profile.ts';

/** Where the image has its agent (`kennel/agents/install.sh`). `FETCH_AGENT` names another folder, for an agent that is not in an image. */
export const AGENT_FOLDER = '/opt/agent';

/** A program of the agent. */
export const program = (context: Pick<ProfileContext, 'env'>, name: string): string => `${context.env.FETCH_AGENT ?? AGENT_FOLDER}/bin/${name}`;

/**
 * How often a failed model call is tried again, with growing pauses: some tens of seconds in all. `FETCH_MODEL_RETRIES` says otherwise.
 * Copilot CLI and OpenCode have fixed numbers of their own, 5 each.
 */
export const retries = (context: Pick<ProfileContext, 'env'>): number => Number(context.env.FETCH_MODEL_RETRIES ?? 6);
