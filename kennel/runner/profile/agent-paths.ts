import type { ProfileContext } from './profile.ts';

/**
 * Where the image has its agent (`kennel/agents/install.sh`). `FETCH_AGENT` names another folder, for an agent that is
 * not in an image.
 */
export const AGENT_FOLDER = '/opt/agent';

/** A program of the agent. */
export const program = (context: Pick<ProfileContext, 'env'>, name: string): string =>
  `${context.env.FETCH_AGENT ?? AGENT_FOLDER}/bin/${name}`;
