import { basename } from 'node:path';
import type { BrowserSubject } from '../../adapters/kennel/browser/browsers.ts';
import { isLocal, type LocalApps } from '../../adapters/kennel/gate/egress/local-apps.ts';
import type { App, Kennel } from '../../adapters/kennel/kennel.ts';
import { reachOf } from '../../store/chats/shares.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { visibleApps } from '../workspace/apps.ts';
import { findWorkspace, type Site } from '../workspace/in-workspace.ts';
import { targetOf } from './page.ts';

/**
 * `http://localhost:PORT` in the browser is an app that app_run keeps running in the workspace of the chat, and never
 * this machine.
 */

const THE_WEB: BrowserSubject = { workspace: null };

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
export function localApps(context: ToolContext, kennel: Kennel, workspace: string): LocalApps {
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
