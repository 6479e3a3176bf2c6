import { basename } from 'node:path';
import { BrowserFailed, type BrowserOwner, type Browsers, NoBrowser } from '../../adapters/kennel/browser/browsers.ts';
import { conversationOf } from '../../store/chats/conversation-start.ts';
import { rulesOfWorkspaces } from '../../store/kennel/egress-rules.ts';
import { activeWorkspace } from '../../store/kennel/workspaces/workspaces.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { onSite, type Site, showBuild, WITH_IMAGE_MS } from '../workspace/in-workspace.ts';
import { localApps } from './local-apps.ts';

/** What every browser tool needs first: the browser of the chat. */

export const common = { runsIn: 'kennel', anyHost: true, timeoutMs: WITH_IMAGE_MS + 60_000 } as const;

const TURNED_OFF =
  'The browser is turned off here: FETCH_BROWSER_SLOTS is 0. Reading a page with web_fetch works without it.';

export interface Opened {
  site: Site;
  browsers: Browsers;
  owner: BrowserOwner;
  /** shows the progress of a build */
  onProgress: (text: string) => void;
  signal: AbortSignal;
}

/** Runs `act` with the browsers of this host. An expected failure there becomes a result. */
export const inBrowser = (context: ToolContext, act: (opened: Opened) => Promise<ToolOutcome>): Promise<ToolOutcome> =>
  onSite(context, async (site) => {
    const { browsers, config, signal } = context;
    if (!browsers || config.FETCH_BROWSER_SLOTS === 0) return { ok: false, output: TURNED_OFF };
    const build = showBuild(context);
    try {
      return await act({ site, browsers, owner: await ownerOf(context, site), onProgress: build.tell, signal });
    } catch (error) {
      if (error instanceof NoBrowser)
        return { ok: false, output: noPage(error.message, config.FETCH_BROWSER_IDLE_MINUTES) };
      if (error instanceof BrowserFailed) return { ok: false, output: error.message };
      throw error;
    } finally {
      await build.close();
    }
  });

export const noPage = (what: string, minutes: number): string =>
  `${what} Open one with browser_open. A browser ends after ${minutes} minutes without use, at /new, and when its container is stopped; its page, cookies and log-ins end with it.`;

/**
 * A run of a workflow has a browser of its own: the same steps find the same cookies, and the page of the chat stays as
 * it is.
 */
async function ownerOf(context: ToolContext, { kennel, host }: Site): Promise<BrowserOwner> {
  const { db, chatId, threadId, unattended } = context;
  return {
    key: unattended ? threadId : chatId,
    conversation: await conversationOf(db, threadId),
    apps: (workspace) => localApps(context, kennel, workspace),
    rules: async ({ workspace }) => {
      const name = workspace === null ? (await activeWorkspace(db, chatId))?.name : basename(workspace);
      const rules = name === undefined ? [] : await rulesOfWorkspaces(db, host, [name]);
      // what was said for one task counts for that task
      return rules.filter(({ taskId }) => taskId === null);
    },
  };
}
