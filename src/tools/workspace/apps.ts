import { z } from 'zod';
import type { App, Kennel } from '../../adapters/kennel/kennel.ts';
import { lineOf } from '../../domain/tasks/checks/project-profile.ts';
import { sameName } from '../../domain/tasks/workspace-names.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { callsOfChat, noteStop } from '../../store/kennel/workspaces/apps.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { printed, took } from './command-text.ts';
import { settleInterrupted, undoable } from './direct-edit.ts';
import {
  commandFor,
  inWorkspace,
  type Opened,
  onSite,
  provide,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from './in-workspace.ts';
import { COMMAND, commandLine, common, execute, folderName, limit, shown } from './shell.ts';

/** Running the project itself: once, to its end, or as an app that runs until it is stopped. */

/** How long it is waited for an app to listen on a port. Afterwards it goes on by itself. */
const LISTEN_MS = 20_000;
const FIRST_LINES = 40;
const LAST_LINES = 40;

export const appTools: Tool[] = [
  defineTool({
    ...common,
    needsShell: true,
    name: 'app_run',
    family: 'apps',
    reads: ['command'],
    readFrom: (args) => (args.command ?? 'the start command').slice(0, 60),
    // its container has no network, and who visits it is on this machine; what it deletes may be gone
    sends: ['command'],
    description:
      'Run a bash command of the project, by default its usual start command, as shell_run does. With keep it is left running, as for a server: the answer names its address for a browser on this machine.',
    danger: 'DANGEROUS',
    effect: 'once',
    schema: z.strictObject({
      command: commandLine.optional(),
      keep: z.boolean().default(false),
      port: z.int().min(1).max(65_535).optional().describe('If it opens several'),
      timeoutMs: limit(120_000),
      workspace: workspaceArgument,
    }),
    item: 'command_execution',
    asks: ({ keep }, at, say) => say(keep ? 'ask.keep' : 'ask.command', { at }),
    preview: async (args) => shown(args.command ?? 'the start command of the project', folderName(args.workspace)),
    run: ({ command, keep, port, timeoutMs, workspace }, context) =>
      inWorkspace(
        context,
        workspace,
        async (at) => {
          const run = command === undefined ? (await commandFor('run', at, context)).argv : null;
          if (command === undefined && !run)
            return {
              ok: false,
              output: `How ${at.name} is started is not known: its files name no start command. Give the command.`,
            };
          const argv = command === undefined ? run! : ['bash', '-lc', command];
          const line = command ?? lineOf(run!);
          if (keep) return await start(at, context, { argv, line, port });
          const title = command === undefined ? line : 'The command';
          return await undoable(at, context, (label) =>
            execute(at, context, { argv, cwd: '.', timeoutMs, label, title, command: line }),
          );
        },
        keep ? undefined : COMMAND,
      ),
    interrupted: (args, context) => settleInterrupted(context, args.workspace),
  }),
  defineTool({
    runsIn: 'kennel',
    timeoutMs: WITH_IMAGE_MS,
    name: 'app_control',
    family: 'apps',
    reads: ['command'],
    // the link of a preview is of no use to anybody who is not told it
    sends: [],
    effect: 'idempotent',
    description: 'List the apps that app_run keeps, read the log of one, stop it, or link a phone to it.',
    danger: 'SAFE',
    dangerOf: ({ action }) => (action === 'preview' ? 'MODERATE' : 'SAFE'),
    schema: z.strictObject({
      action: z.enum(['list', 'log', 'stop', 'preview']).default('list'),
      app: text(100).min(1).optional().describe('Its number in the list, or workspace'),
      lines: z.int().min(1).max(2000).default(100),
    }),
    summarise: (args) => args.action,
    run: ({ action, app, lines }, context) => control(context, action, app, lines),
  }),
];

async function start(
  at: Opened,
  context: ToolContext,
  { argv, line, port }: { argv: string[]; line: string; port?: number },
): Promise<ToolOutcome> {
  const { apps } = at.kennel;
  if (context.unattended)
    return {
      ok: false,
      output:
        'Nothing is left running by a workflow, because nobody may see it. Leave keep out, or start it in the chat.',
    };
  const lacks = await provide(context, at.kennel, at.path);
  const same = (await apps.list()).find(
    (each) => each.state === 'running' && each.workspace === at.path && each.command === line,
  );
  const began = performance.now();
  const id =
    same?.id ??
    (await apps.start({
      callId: context.callId,
      workspace: at.path,
      argv,
      command: line,
      ...(port && { port }),
      env: {},
    }));
  const app = await apps.settled(id, LISTEN_MS, context.signal);
  const log = app ? printed(await apps.log(id, FIRST_LINES)).trim() : '';
  const told = log ? `\n\nWhat it printed:\n${log}` : '\n\nIt printed nothing yet.';
  if (!app || app.state === 'exited') {
    await apps.stop(id);
    const how = app?.outOfMemory
      ? 'needed more memory than a container has'
      : `ended with exit code ${app?.exitCode ?? 'unknown'}`;
    const output = [`${line} ${how} after ${took(performance.now() - began)}, so nothing runs.${told}`, ...lacks].join(
      '\n\n',
    );
    return { ok: false, output, metadata: { command: line, workspace: at.name, exit_code: app?.exitCode ?? null } };
  }
  const where = app.address
    ? `It listens on port ${app.appPort}: browser_open finds it at http://localhost:${app.appPort}/; on this machine a browser does at ${app.address}`
    : `It listens on no port${port ? ` ${port}` : ''} yet; "app log" shows what it prints.`;
  const head = `${line} runs in ${at.name}${same ? ' already' : ''}.`;
  return {
    ok: true,
    output: `${head} ${where}\nIt runs until "app stop".${told}`,
    metadata: same ? { already: dataOf(app) } : { app: { ...dataOf(app), host: at.host } },
  };
}

const dataOf = ({ id, name, command, state, appPort, address, startedAt }: App) => ({
  id,
  workspace: name,
  command,
  state,
  port: appPort,
  address,
  startedAt,
});

/** The apps in workspaces that this person may see. */
export async function visibleApps(context: Pick<ToolContext, 'db' | 'kennel' | 'chatId' | 'turnId'>): Promise<App[]> {
  const [apps, reach] = await Promise.all([context.kennel!.apps.list(), reachOf(context.db, context)]);
  return apps.filter(({ name }) => reach === null || reach.has(name));
}

const control = (
  context: ToolContext,
  action: 'list' | 'log' | 'stop' | 'preview',
  wanted: string | undefined,
  lines: number,
): Promise<ToolOutcome> =>
  onSite(context, async ({ kennel }) => {
    const all = await visibleApps(context);
    const calls = all.map(({ callId }) => callId);
    const mine = await callsOfChat(context.db, context.chatId, calls);
    const own = all.filter(({ callId }) => mine.has(callId));
    // another chat's app can be named and stopped, because it takes a slot of the host; its command stays with its chat
    const elsewhere = all.filter(({ callId }) => !mine.has(callId));
    const numbered = [...own, ...elsewhere];
    const lineOf = (app: App): string =>
      `${numbered.indexOf(app) + 1}: ${mine.has(app.callId) ? aboutApp(app) : `an app in ${app.name}, left running by another chat`}`;
    const list = numbered.map(lineOf).join('\n');
    if (action === 'list')
      return {
        ok: true,
        output: list || 'No app is running.',
        ...(!list && { ours: true }),
        metadata: { apps: own.map(dataOf) },
      };
    // without a name, it is about what this chat has started
    const isWanted = (app: App) =>
      app.id === wanted || sameName(app.name, wanted!) || String(numbered.indexOf(app) + 1) === wanted;
    const fitting = wanted === undefined ? own : all.filter(isWanted);
    const meant = fitting.length > 1 ? fitting.filter(({ state }) => state === 'running') : fitting;
    const [app] = meant;
    if (!app) {
      const none = wanted === undefined ? 'This chat has left no app running.' : `There is no app ${wanted}.`;
      return list
        ? { ok: false, output: `${none} There is:\n${list}` }
        : { ok: false, output: 'No app is running.', ours: true };
    }
    if (meant.length > 1)
      return {
        ok: false,
        output: `Which one?\n${meant.map(lineOf).join('\n')}\nSay for example: app ${action} ${numbered.indexOf(app) + 1}`,
      };
    if (action === 'log') {
      const log = printed(await kennel.apps.log(app.id, lines)).trim();
      return {
        ok: true,
        output: `${aboutApp(app)}\n\n${log || 'It printed nothing.'}`,
        metadata: { app: dataOf(app) },
      };
    }
    if (action === 'preview') return await preview(kennel, app, context);
    const log = printed(await kennel.apps.log(app.id, LAST_LINES)).trim();
    // first, or a host that is killed in between would tell that it ended by itself
    await noteStop(context.db, app.callId);
    await kennel.apps.stop(app.id);
    const last = log ? `\n\nWhat it printed last:\n${log}` : '';
    return {
      ok: true,
      output: `${app.state === 'running' ? 'Stopped' : 'Removed'} ${printed(app.command)} in ${app.name}.${last}`,
      metadata: { app: dataOf(app) },
    };
  });

async function preview(kennel: Kennel, app: App, context: ToolContext): Promise<ToolOutcome> {
  if (context.unattended || (await reachOf(context.db, context)) !== null)
    return { ok: false, output: 'Only the owner opens a preview, in a chat.', ours: true };
  const link = app.state === 'running' ? await kennel.apps.link(app.id) : null;
  if (!link)
    return {
      ok: false,
      output: `The app in ${app.name} listens on no port yet, or this machine is in no network.`,
      ours: true,
    };
  return {
    ok: true,
    output: `${link.url}\nopens the app in ${app.name} on one device in your network, once. It closes after an hour, and is not encrypted.`,
    ours: true,
    metadata: { app: dataOf(app), url: link.url, until: new Date(link.until).toISOString() },
  };
}

function aboutApp(app: App): string {
  const how =
    app.state === 'exited'
      ? app.outOfMemory
        ? 'ended because its memory ran out'
        : `ended with exit code ${app.exitCode}`
      : (app.address ?? 'running, listens on no port yet');
  return `${printed(app.command).replace(/\s+/g, ' ').slice(0, 80)} in ${app.name}, ${how}`;
}
