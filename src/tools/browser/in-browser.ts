import { basename } from 'node:path';
import {
  BrowserFailed,
  type BrowserOwner,
  type BrowserSubject,
  type Browsers,
  NoBrowser,
} from '../../adapters/kennel/browser/browsers.ts';
import { isLocal, type LocalApps } from '../../adapters/kennel/gate/egress/local-apps.ts';
import type { App, Kennel } from '../../adapters/kennel/kennel.ts';
import { conversationOf } from '../../store/chats/conversation-start.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { rulesOfWorkspaces } from '../../store/kennel/egress-rules.ts';
import { activeWorkspace } from '../../store/kennel/workspaces/workspaces.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { visibleApps } from '../workspace/apps.ts';
import { findWorkspace, onSite, type Site, showBuild, WITH_IMAGE_MS } from '../workspace/in-workspace.ts';
import { targetOf } from './page.ts';

/** What every browser tool needs first: the browser of the chat. */

export const common = { runsIn: 'kennel', anyHost: true, timeoutMs: WITH_IMAGE_MS + 60_000 } as const;

const TURNED_OFF = 'The browser is turned off here. Reading a page with web_fetch works without it.';

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
 * `http://localhost:PORT` in the browser is an app that app_run keeps running in the workspace of the chat, and never
 * this machine.
 */

export const THE_WEB: BrowserSubject = { workspace: null };

export const isOfApp = (url: string): boolean => isLocal(targetOf(new URL(url)));

/**
 * Which browser an address needs, or why there is nothing to open. No browser is closed for an app that does not run.
 */
export async function subjectOf(context: ToolContext, site: Site, url: string): Promise<BrowserSubject | ToolOutcome> {
  if (!isOfApp(url)) return THE_WEB;
  const found = await findWorkspace(context, site, undefined);
  if ('ok' in found)
    return { ...found, output: `localhost in the browser means the apps of the active workspace. ${found.output}` };
  const apps = localApps(context, site.kennel, found.path);
  const { port } = targetOf(new URL(url));
  const connection = await apps.connect(port);
  if (!connection) return { ok: false, output: await apps.missing(port), metadata: { url } };
  connection.destroy();
  return { workspace: found.path };
}

/** The apps of one workspace, as long as the people of this turn may use it. */
function localApps(context: ToolContext, kennel: Kennel, workspace: string): LocalApps {
  const name = basename(workspace);
  return {
    workspace,
    connect: async (port) => {
      const reach = await reachOf(context.db, context);
      return reach === null || reach.has(name) ? await kennel.apps.connect(workspace, port) : null;
    },
    missing: async (port) => {
      const running = (await visibleApps({ ...context, kennel })).filter(({ state }) => state === 'running');
      const [mine, others] = [
        running.filter((app) => app.workspace === workspace),
        running.filter((app) => app.workspace !== workspace),
      ];
      const elsewhere = others.find(({ appPort }) => appPort === port);
      return [
        `No app in the workspace ${name} listens on port ${port}, and localhost here is never the machine itself.`,
        mine.length > 0 ? `Running there: ${mine.map(shown).join(', ')}.` : 'Start it with app_run and keep.',
        ...(elsewhere
          ? [`${shown(elsewhere)} is one of the workspace ${elsewhere.name}: make that the active one first.`]
          : []),
      ].join(' ');
    },
  };
}

const shown = ({ id, appPort }: App): string => `${id} ${appPort === null ? 'on no port yet' : `on port ${appPort}`}`;

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
