import type { Config } from '../../../config.ts';
import { visibleLine } from '../../../domain/text/evidence.ts';
import type { Manifest } from './package.ts';
import type { HeldSettings } from './settings.ts';
import { serversOf, type TargetReport, workspacesOfConfig } from './target.ts';

interface Plan {
  config: Config;
  manifest: Manifest;
  target: TargetReport;
  replace: boolean;
  settings: HeldSettings;
}

/** What a move does, for a person who decides about it. */
export function importPlan({ config, manifest, target, replace, settings }: Plan): string {
  const { figures, dump, workspaces, at, version } = manifest;
  if (target.imported && !replace)
    return `This home (${manifest.home}) was moved to ${serversOf(config)} before. Its tables stay as they are there.`;
  const rows = dump.tables.reduce((sum, table) => sum + table.rows, 0);
  const taken = Object.keys(settings.taken);
  return [
    `The home ${manifest.home}, read at ${at} by release ${version}, goes to ${serversOf(config)}:`,
    `  - ${figures.chats} chats in ${rows} rows; ${figures.openQuestions} open questions, ${figures.turns} turns at work, ${figures.messages} messages to send`,
    `  - ${figures.crons} schedules, ${figures.reminders} reminders, ${figures.tasks} coding tasks, which begin again from the database`,
    `  - ${figures.whatsapp ? 'the link of WhatsApp with its keys' : 'no WhatsApp: it is not linked'}`,
    `  - keys, tokens and files to ${config.FETCH_HOME}${taken.length > 0 ? `, and the settings ${taken.join(', ')}` : ''}`,
    ...(workspaces.length > 0
      ? [`  - workspaces to ${workspacesOfConfig(config)}: ${workspaces.map(({ name }) => name).join(', ')}`]
      : []),
    ...settings.left.map(({ name, why }) => `  - not the setting ${visibleLine(name)}: ${visibleLine(why)}`),
    ...(replace
      ? [`What is there now is deleted: all tables of Fetch, and ${target.running} runs and schedules of Temporal.`]
      : []),
    'Not moved: histories of Temporal, logs, images and caches, deleted workspaces.',
  ].join('\n');
}
