import { visibleLine } from '../domain/text/evidence.ts';

/**
 * What an approval asks, in the words of the person. `at`: ` in demo` where the tool works in a workspace. The words come from the
 * arguments and from here, never from what the model says about the call.
 */
type Sentence = (args: Record<string, unknown>, at: string) => string;

const shown = (value: unknown, max = 120): string => {
  const text = visibleLine(String(value ?? ''));
  return text.length > max ? `${text.slice(0, max)}…` : text;
};
const named = (value: unknown): string => `"${shown(value, 80)}"`;
const task = (args: Record<string, unknown>): string => (args.taskId ? `the task ${shown(args.taskId)}` : 'the current task');

export const approvalSentences: Record<string, Sentence> = {
  app_run: (_, at) => `Run this command${at}?`,
  app_test: (args, at) => (args.command ? `Run these tests${at}?` : `Run the tests${at}?`),
  cron_create: (args) => `Run the workflow ${named(args.workflow)} by itself, on the schedule ${shown(args.schedule)}?`,
  cron_delete: (args) => `Delete the schedule ${named(args.cron)}?`,
  cron_enable: (args) => `Switch the schedule ${named(args.cron)} ${args.enabled === false ? 'off' : 'on'}?`,
  cron_run: (args) => `Run the schedule ${named(args.cron)} now?`,
  file_delete: (args, at) => `Delete ${shown(args.path)}${at}?`,
  file_edit: (args, at) => `Change ${shown(args.path)}${at}?`,
  file_write: (args, at) => `Write ${shown(args.path)}${at}?`,
  folder_delete: (args, at) => `Delete the folder ${shown(args.path)}${at} with everything in it?`,
  git_branch: (args, at) =>
    args.action === 'list'
      ? `List the branches${at}?`
      : `${args.action === 'create' ? 'Make and change to' : 'Change to'} the branch ${named(args.name)}${at}?`,
  git_commit: (args, at) => `Commit the changes${at} as ${named(String(args.message ?? '').split('\n')[0])}?`,
  shell_run: (_, at) => `Run this command${at}?`,
  task_cancel: (args) => `Cancel ${task(args)}?`,
  task_create: (args, at) => `Let ${shown(args.agent === undefined || args.agent === 'auto' ? 'a coding agent' : args.agent)} work${at}?`,
  task_pause: (args) => `Pause ${task(args)}?`,
  task_resume: (args) => `Let ${task(args)} go on?`,
  undo: (args, at) =>
    args.what === 'redo'
      ? `Bring back what the last undo took${at}?`
      : `Take back ${args.what === 'all' ? 'everything that coding tasks' : 'what the last coding task'} changed${at}?`,
  workflow_create: (args) => `Save the workflow ${named(args.name)}?`,
  workflow_delete: (args) => `Delete the workflow ${named(args.workflow)}?`,
  workflow_run: (args) => `Run the workflow ${named(args.workflow)}?`,
  workspace_create: (args) => `Make the workspace ${named(args.name)}?`,
  workspace_delete: (args) => `Delete the workspace ${named(args.name)}?`,
  workspace_publish: (args, at) =>
    `Publish the workspace${args.name ? ` ${named(args.name)}` : at} on GitHub, ${args.isPublic ? 'for everybody to read' : 'privately'}?`,
  workspace_sync: (args, at) => `Commit and push the workspace${args.name ? ` ${named(args.name)}` : at} to GitHub?`,
};

/** A tool that nobody has written a sentence for is asked for by its name. */
export const approvalSentence = (name: string, args: Record<string, unknown>, at: string): string =>
  approvalSentences[name]?.(args, at) ?? `Use ${visibleLine(name)}${at}?`;
