/** Kinds of the items that tell of tool calls, as clients of the runtime API know them: they show commands and changes of files in their own ways. */
export type CallItemKind = 'tool_call' | 'file_change' | 'command_execution';

const COMMANDS: ReadonlySet<string> = new Set(['shell_run', 'app_run', 'app_test']);
const FILE_CHANGES: ReadonlySet<string> = new Set(['file_write', 'file_edit', 'file_delete', 'folder_delete']);

export const itemKindOf = (tool: string): CallItemKind => (COMMANDS.has(tool) ? 'command_execution' : FILE_CHANGES.has(tool) ? 'file_change' : 'tool_call');
