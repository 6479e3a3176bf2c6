import type { GitHubAccess } from '../../adapters/github/client.ts';
import { GitHubAway, GitHubRefusal } from '../../adapters/github/errors.ts';
import { reachOf } from '../../store/chats/shares.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';

/** Who asks GitHub, and what becomes of its refusals. The token stays in this process. */

const NO_TOKEN =
  'There is no GitHub token yet, so nothing can be changed on GitHub. Make one that may create and write repositories (https://github.com/settings/tokens), and put it in on my page, under Settings, All settings. A commit needs none.';

const no = (output: string): ToolOutcome => ({ ok: false, output });

/** For what writes: GitHub needs the token. */
export const writeAccess = ({ config, signal }: ToolContext): GitHubAccess & { token: string } => ({
  token: config.GH_TOKEN!,
  apiUrl: config.GITHUB_API_URL,
  signal,
});

/** The token may read everything of the owner's. A turn that follows the words of others reads what is public. */
export async function readAccess(context: ToolContext): Promise<GitHubAccess> {
  const { config, db, signal } = context;
  const owners = (await reachOf(db, context)) === null;
  return { apiUrl: config.GITHUB_API_URL, signal, ...(owners && config.GH_TOKEN && { token: config.GH_TOKEN }) };
}

/** A call that may run again: a refusal of GitHub is a result; an unreachable GitHub is a failure, which is retried. */
export async function retried(act: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof GitHubRefusal) return no(error.message);
    if (error instanceof GitHubAway) throw new Error(`${error.message} Nothing was lost; it can be tried again.`);
    throw error;
  }
}

/** The same for a call that needs the token. */
export const retriedWithToken = (context: ToolContext, act: () => Promise<ToolOutcome>): Promise<ToolOutcome> =>
  context.config.GH_TOKEN ? retried(act) : Promise.resolve(no(NO_TOKEN));

/** A call that must not run again. `look`: where to see whether it had its effect, when nobody knows. */
export async function once(context: ToolContext, look: string, act: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  if (!context.config.GH_TOKEN) return no(NO_TOKEN);
  try {
    return await act();
  } catch (error) {
    if (error instanceof GitHubRefusal) return no(error.message);
    if (error instanceof GitHubAway)
      return no(
        `${error.message} ${error.unsure ? `Whether it was made is unknown: look with ${look} before you try again.` : 'It was not made.'}`,
      );
    throw error;
  }
}
